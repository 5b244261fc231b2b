// Steps that share a transaction.
#include <gmock/gmock.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orchestrator/store/store.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

Event timed_report(std::int64_t step, std::size_t padding = 0) {
    event::Reported e{1, 1, {}};
    e.report.step = step;
    e.report.metrics = {{"loss", 1.0 / static_cast<double>(step)}, {"val_accuracy", 0.5}};
    e.report.seconds = 0.5 * static_cast<double>(step);
    e.report.warning = std::string(padding, 'w');
    return e;
}

class Groups : public ::testing::Test {
   protected:
    Groups() {
        store_ = *open_store(file_);
        EXPECT_TRUE(store_->append(event::Proposed{1, {}, {}}));
        viewer_ = *open_store_read_only(file_);
    }
    [[nodiscard]] std::size_t seen() const { return viewer_->events(0, 1'000'000)->size(); }

    testing::TemporaryFolder folder_;
    fs::path file_ = folder_ / "study.db";
    std::unique_ptr<Store> store_, viewer_;
};

TEST_F(Groups, AddedEventsWaitForTheNextAppendOrFlush) {
    EXPECT_EQ(store_->add(timed_report(1))->sequence, 2);
    EXPECT_EQ(store_->add(timed_report(2))->sequence, 3);
    EXPECT_EQ(seen(), 1u);
    EXPECT_TRUE(store_->flush());
    EXPECT_EQ(seen(), 3u);
    ASSERT_TRUE(store_->add(timed_report(3)));
    EXPECT_EQ(store_->append(event::Finished{1, 1, TrialState::complete, "", ""})->sequence, 5);
    EXPECT_EQ(seen(), 5u);
}

TEST_F(Groups, AKillLosesNoMoreThanWhatWaits) {
    const pid_t child = ::fork();
    if (child == 0) {
        auto store = open_store(file_);
        for (std::int64_t step = 1; step <= 100; ++step)
            if (!(*store)->add(timed_report(step))) ::_exit(1);
        if (!(*store)->append(event::Finished{1, 1, TrialState::complete, "", ""})) ::_exit(2);
        if (!(*store)->add(timed_report(1))) ::_exit(3);
        ::raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(seen(), 102u);
}

TEST_F(Groups, AFullDiskStoresThemAllOrNoneAndTheyAreStoredWhenThereIsSpace) {
    // A limit on file sizes simulates a full disk.
    ASSERT_EQ(::signal(SIGXFSZ, SIG_IGN), SIG_DFL);
    struct rlimit before {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small { 200'000, before.rlim_max };
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    for (std::int64_t step = 1; step <= 300; ++step) ASSERT_TRUE(store_->add(timed_report(step, 2000)));
    const auto flushed = store_->flush();
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ::signal(SIGXFSZ, SIG_DFL);

    EXPECT_FALSE(flushed);
    EXPECT_EQ(seen(), 1u);
    EXPECT_EQ(store_->append(timed_report(301))->sequence, 302);
    EXPECT_EQ(seen(), 302u);
    EXPECT_TRUE(open_store(file_));
}

TEST_F(Groups, UnderALongReaderTheLogGrowsWithTheStepsNotWithTheirTransactions) {
    sqlite3* reader = nullptr;
    ASSERT_EQ(sqlite3_open_v2(file_.c_str(), &reader, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM event", nullptr, nullptr, nullptr), SQLITE_OK);
    const auto log = [&] { return fs::file_size(file_.string() + "-wal"); };
    const auto before = log();
    constexpr std::int64_t steps = 20'000, together = 150;  // 50 ms at 3,000 steps a second
    for (std::int64_t step = 1; step <= steps; ++step) {
        ASSERT_TRUE(store_->add(timed_report(step)));
        if (step % together == 0) {
            ASSERT_TRUE(store_->flush());
        }
    }
    EXPECT_LT(log() - before, steps * 240);
    sqlite3_close_v2(reader);
}

}  // namespace
}  // namespace hpo
