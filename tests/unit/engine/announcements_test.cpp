// The order and the time of a session's announcements.
#include "orchestrator/engine/announcements.hpp"

#include <gmock/gmock.h>

#include "tests/unit/engine/played.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using testing::MemoryStore;

TEST(Announcements, AreMadeInOrderOnceTheirEventsAreOnTheDisk) {
    Announcements announcements;
    std::vector<int> announced;
    const auto say = [&](int number) { return [&announced, number] { announced.push_back(number); }; };
    announcements.add(0, say(1));
    EXPECT_THAT(announced, ElementsAre(1));
    announcements.add(1, say(2));
    announcements.add(1, say(3));
    announcements.add(2, say(4));
    EXPECT_THAT(announced, ElementsAre(1));
    announcements.release(0);
    EXPECT_THAT(announced, ElementsAre(1));
    announcements.release(1);
    EXPECT_THAT(announced, ElementsAre(1, 2, 3));
    announcements.add(1, say(5));  // waits for the announcements before it
    EXPECT_THAT(announced, ElementsAre(1, 2, 3));
    announcements.release(2);
    EXPECT_THAT(announced, ElementsAre(1, 2, 3, 4, 5));
    announcements.add(2, say(6));
    EXPECT_THAT(announced, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Announcements, NothingIsAnnouncedAfterAResultThatWasNotStored) {
    Announcements announcements;
    std::vector<int> announced;
    const auto announce = [&](int number) { return [&announced, number] { announced.push_back(number); }; };
    announcements.add(1, announce(1));
    announcements.add(2, announce(2));
    announcements.drop_after(1);
    announcements.add(1, announce(3));
    announcements.release(2);
    EXPECT_THAT(announced, ElementsAre(1, 3));
}

TEST(Announcements, TheLedgerTellsOfPausedTrialsThatEndTogetherOnceTheyAreStored) {
    // A store that records whether its last event has been flushed.
    class Grouping final : public Store {
       public:
        [[nodiscard]] std::string source() const override { return {}; }
        Result<void> set_source(const std::string&) override { return {}; }
        Result<std::vector<StoredEvent>> events(std::int64_t after, std::size_t limit) const override {
            return stored.events(after, limit);
        }
        Result<StoredEvent> append(const Event& event) override { return flushed = true, stored.append(event); }
        Result<StoredEvent> add(const Event& event) override { return flushed = false, stored.append(event); }
        Result<void> flush() override { return flushed = true, Result<void>{}; }
        MemoryStore stored;
        bool flushed = true;
    } store;
    Study study = testing::small_study();
    study.stopping = {{"asha", {{"grace", std::int64_t{1}}, {"factor", std::int64_t{3}}}}};
    Ledger ledger(study, store, *Proposer::make(study), *Rules::make(study));
    ledger.session_started({"host", 1, "test"});
    for (int trial = 1; trial <= 2; ++trial) {
        const auto number = ledger.propose();
        ASSERT_TRUE(number);
        ledger.launch(*number, "cpu 0", {});
        ledger.report(*number, {.step = 1, .metrics = {{"loss", trial}}});
        ASSERT_EQ(ledger.record().trial(*number).state, TrialState::paused);
    }
    int ends = 0;
    ledger.on_end_with_study = [&](const StoredEvent& stored) {
        ends += std::holds_alternative<event::Finished>(stored.event) ? 1 : 0;
        EXPECT_TRUE(store.flushed);
    };
    ledger.close_paused(10);
    EXPECT_EQ(ends, 2);
}

}  // namespace
}  // namespace hpo
