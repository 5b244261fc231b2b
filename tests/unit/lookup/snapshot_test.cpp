// A snapshot that is taken while the process that runs the study ends.
#include <gtest/gtest.h>

#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/store/holder_lock.hpp"
#include "tests/support/memory_store.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

/// A store whose holder stores its last events and ends just after a viewer has read.
class EndingStore : public testing::MemoryStore {
   public:
    Result<std::vector<StoredEvent>> events(std::int64_t after, std::size_t limit) const override {
        auto read = MemoryStore::events(after, limit);
        if (end) std::exchange(end, nullptr)();
        return read;
    }

    mutable std::function<void()> end;
};

TEST(Snapshot, HasTheLastEventsOfAHolderThatEndsMeanwhile) {
    const testing::TemporaryFolder folder;
    StudySnapshot snapshot{.folder = {folder.path()}};
    auto owned = std::make_unique<EndingStore>();
    EndingStore& store = *owned;
    snapshot.store = std::move(owned);
    std::optional<HolderLock> lock = *HolderLock::take(snapshot.folder);
    ASSERT_TRUE(store.append(event::Proposed{.trial = 1}));
    ASSERT_TRUE(store.append(event::Launched{.trial = 1, .attempt = 1}));
    ASSERT_TRUE(snapshot.refresh());
    EXPECT_TRUE(snapshot.holder);
    EXPECT_EQ(snapshot.record.trial(1).state, TrialState::running);

    store.end = [&] {
        ASSERT_TRUE(store.append(event::Finished{.trial = 1, .attempt = 1}));
        lock.reset();
    };
    ASSERT_TRUE(snapshot.refresh());
    EXPECT_FALSE(snapshot.holder);
    EXPECT_EQ(snapshot.record.trial(1).state, TrialState::complete);
}

TEST(Snapshot, OfStandingsReadsTheStepsBeforeOneThatIsRepeated) {
    const testing::TemporaryFolder folder;
    StudySnapshot snapshot{.folder = {folder.path()}};
    snapshot.study.objective = {"loss", Direction::minimize, Objective::At::best};
    snapshot.record.thins = true;
    snapshot.record.parts = TrialParts::standing;
    auto owned = std::make_unique<testing::MemoryStore>();
    testing::MemoryStore& store = *owned;
    snapshot.store = std::move(owned);
    const auto report = [&](std::int64_t attempt, std::int64_t step, double loss) {
        ASSERT_TRUE(store.append(event::Reported{1, attempt, {.step = step, .metrics = {{"loss", loss}}}}));
    };
    ASSERT_TRUE(store.append(event::Proposed{.trial = 1}));
    ASSERT_TRUE(store.append(event::Launched{.trial = 1, .attempt = 1}));
    for (const auto& [step, loss] : {std::pair{1, 0.5}, {2, 0.25}, {3, 0.75}}) report(1, step, loss);
    ASSERT_TRUE(store.append(event::Finished{.trial = 1, .attempt = 1}));
    ASSERT_TRUE(snapshot.refresh());
    EXPECT_EQ(snapshot.record.trial(1).value, 0.25);

    snapshot.record.trial(1).curve.clear();  // as the summary's rows are read
    ASSERT_TRUE(store.append(event::Launched{.trial = 1, .attempt = 2}));
    report(2, 2, 0.625);
    ASSERT_TRUE(snapshot.refresh());
    EXPECT_EQ(snapshot.record.trial(1).value, 0.5);
    EXPECT_EQ(snapshot.record.trial(1).steps(), 2);
}

}  // namespace
}  // namespace hpo
