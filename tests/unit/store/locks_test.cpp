// Locks that other programs hold on the database, and changes of the system's clock.
#include <gmock/gmock.h>

#include <csignal>

#include "hpo/interrupted.hpp"
#include "orchestrator/store/event_clock.hpp"
#include "orchestrator/store/sqlite.hpp"
#include "orchestrator/store/store.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;

class Locked : public ::testing::Test {
   protected:
    Locked() {
        store_ = *open_store(folder_ / "study.db");
        other_.emplace(*sqlite::Database::open(folder_ / "study.db", sqlite::Mode::read_write, 0));
        EXPECT_TRUE(other_->run("BEGIN IMMEDIATE"));
    }
    ~Locked() override { interrupted_by = 0; }

    testing::TemporaryFolder folder_;
    std::unique_ptr<Store> store_;
    std::optional<sqlite::Database> other_;
};

TEST_F(Locked, AWriterWaitsAsLongAsItIsToldToAndThenWrites) {
    auto writer = *sqlite::Database::open(folder_ / "study.db", sqlite::Mode::read_write, 0);
    int asked = 0;
    writer.wait_for_locks([&](double waited) {
        EXPECT_GE(waited, 0);
        if (++asked == 4) {
            EXPECT_TRUE(other_->run("COMMIT"));
        }
        return true;
    });
    const auto written = writer.run("INSERT INTO study VALUES ('key', 'value')");
    EXPECT_TRUE(written) << written.error().message;
    EXPECT_EQ(asked, 4);
}

TEST_F(Locked, AWriterThatIsToldToGiveUpSaysWhy) {
    auto writer = *sqlite::Database::open(folder_ / "study.db", sqlite::Mode::read_write, 0);
    writer.wait_for_locks([](double) { return false; });
    const auto written = writer.run("INSERT INTO study VALUES ('key', 'value')");
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message, HasSubstr("locked"));
}

TEST_F(Locked, AnInterruptedStudyDoesNotWaitForTheLock) {
    interrupted_by = SIGINT;
    const auto stored = store_->append(event::SessionStarted{"host", 1, "test"});
    ASSERT_FALSE(stored);
    EXPECT_THAT(stored.error().message, HasSubstr("locked"));
    interrupted_by = 0;
    EXPECT_TRUE(other_->run("COMMIT"));
    EXPECT_TRUE(store_->append(event::SessionStarted{"host", 1, "test"}));
}

TEST(EventClock, GoesOnEvenlyWhenTheWallClockIsSet) {
    static double wall = 0, since_boot = 0;
    wall = 1'000'000, since_boot = 50;
    const EventClock clock([](clockid_t which) { return which == CLOCK_REALTIME ? wall : since_boot; });
    EXPECT_EQ(clock.now(), 1'000'000);
    wall += 50.0 * 365 * 86400;
    since_boot += 3;
    EXPECT_EQ(clock.now(), 1'000'003);
}

}  // namespace
}  // namespace hpo
