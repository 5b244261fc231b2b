// Events that a loss of power may lose, and events that it must not.
#include <gmock/gmock.h>

#include <array>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "orchestrator/store/disk_sync.hpp"
#include "orchestrator/store/log_checkpoints.hpp"
#include "orchestrator/store/store.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/no_threads.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A synchronisation that waits in every call until the test lets it continue.
class Gate {
   public:
    /// Called by the thread that synchronises.
    void pass() {
        std::unique_lock lock(mutex_);
        ++arrived_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_ >= arrived_; });
    }
    /// Lets `count` more calls continue.
    void open(int count = 1) {
        const std::lock_guard lock(mutex_);
        open_ += count;
        changed_.notify_all();
    }
    void wait_for(int arrived) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return arrived_ >= arrived; });
    }
    int arrived() {
        const std::lock_guard lock(mutex_);
        return arrived_;
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int arrived_ = 0, open_ = 0;
};

TEST(DiskSync, OneSynchronisationDoesForAllThatWasWrittenBeforeItBegan) {
    Gate gate;
    DiskSync sync([&]() -> Result<void> { return gate.pass(), Result<void>{}; });
    sync.request(1);
    gate.wait_for(1);
    for (std::int64_t count = 2; count <= 100; ++count) sync.request(count);
    EXPECT_EQ(*sync.reached(), 0);
    gate.open();
    gate.wait_for(2);
    EXPECT_EQ(*sync.reached(), 1);  // later writes may not be part of the first synchronisation
    gate.open();
    EXPECT_TRUE(sync.wait(100));
    EXPECT_EQ(*sync.reached(), 100);
    EXPECT_EQ(gate.arrived(), 2);
    EXPECT_TRUE(sync.wait(7));
    EXPECT_EQ(gate.arrived(), 2);
}

TEST(DiskSync, WhatIsRequestedSoonSharesASynchronisation) {
    Gate gate;
    DiskSync sync([&]() -> Result<void> { return gate.pass(), Result<void>{}; });
    for (int write = 0; write < 100; ++write) sync.request_soon();
    gate.wait_for(1);
    EXPECT_EQ(*sync.reached(), 0);
    sync.request_soon();  // its write may not be part of the first one
    gate.open();
    gate.wait_for(2);
    gate.open();
    EXPECT_TRUE(sync.wait(0));
    EXPECT_EQ(gate.arrived(), 2);
}

TEST(DiskSync, WhatIsRequestedSoonReachesTheDiskBeforeItEnds) {
    int calls = 0;
    {
        DiskSync sync([&]() -> Result<void> { return ++calls, Result<void>{}; });
        EXPECT_TRUE(sync.wait(1));
        sync.request_soon();
    }
    EXPECT_EQ(calls, 2);
    {
        DiskSync sync([&]() -> Result<void> { return ++calls, Error{"I/O error"}; });
        EXPECT_FALSE(sync.wait(1));
        sync.request_soon();
    }
    EXPECT_EQ(calls, 3) << "after a failure the state of the disk is unknown";
}

TEST(DiskSync, TheLastSynchronisationIsAwaitedSoThatItsFailureIsKnown) {
    int calls = 0;
    DiskSync sync([&]() -> Result<void> {
        if (++calls == 2) return Error{"I/O error"};
        return {};
    });
    ASSERT_TRUE(sync.settle(1));
    sync.request_soon();
    EXPECT_FALSE(sync.settle(1));
    EXPECT_EQ(calls, 2);
}

TEST(DiskSync, SeveralThreadsMayMakeTheFirstRequest) {
    for (int round = 0; round < 200; ++round) {
        DiskSync sync([]() -> Result<void> { return {}; });
        std::vector<std::thread> callers;
        for (std::int64_t count = 1; count <= 4; ++count)
            callers.emplace_back([&sync, count] { EXPECT_TRUE(sync.wait(count)); });
        for (std::thread& one : callers) one.join();
        EXPECT_EQ(*sync.reached(), 4);
    }
}

TEST(DiskSync, WorksInItsCallerIfTheSystemHasNoThreadLeft) {
    int calls = 0;
    DiskSync sync([&]() -> Result<void> { return ++calls, Result<void>{}; });
    {
        const testing::NoThreads none;
        sync.request(3);
        EXPECT_EQ(*sync.reached(), 3);
        EXPECT_TRUE(sync.wait(4));
        EXPECT_EQ(calls, 2);
    }
    EXPECT_TRUE(sync.wait(5)) << "by a thread again";
    EXPECT_EQ(calls, 3);
}

TEST(DiskSync, AFailureIsPermanent) {
    int calls = 0, notified = 0;
    DiskSync sync([&]() -> Result<void> {
        if (++calls == 2) return Error{"I/O error"};
        return {};
    });
    sync.listen([&] { ++notified; });
    EXPECT_TRUE(sync.wait(1));
    EXPECT_FALSE(sync.wait(2));
    EXPECT_FALSE(sync.wait(3));
    EXPECT_FALSE(sync.reached());
    sync.listen({});
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(notified, 2);
}

TEST(DiskSync, AMissingFileIsAnError) {
    const auto synchronise = synchronise_log("/no/such/study.db-wal");
    ASSERT_FALSE(synchronise);
    EXPECT_THAT(synchronise.error().message, Mentions("study.db-wal", "brought"));
}

/// A study on a disk that loses all but synchronised data. Each synchronisation copies the files.
class Power : public ::testing::Test {
   protected:
    std::unique_ptr<Store> open() {
        auto store = open_store(file_, {}, [this]() -> Result<void> {
            if (gated_) gate_.pass();
            if (fails_) return Error{"I/O error"};
            fs::copy(file_, disk_ / "study.db", fs::copy_options::overwrite_existing);
            fs::copy(file_.string() + "-wal", disk_ / "study.db-wal", fs::copy_options::overwrite_existing);
            return {};
        });
        EXPECT_TRUE(store) << store.error().message;
        return *std::move(store);
    }
    /// Returns the study as it is after a loss of power.
    std::vector<StoredEvent> after_the_loss() const {
        const auto store = open_store(disk_ / "study.db");
        EXPECT_TRUE(store) << store.error().message;
        return *(*store)->events(0, 1'000'000);
    }
    static Event end_of(std::int64_t trial) { return event::Finished{trial, 1, TrialState::complete, "", ""}; }

    testing::TemporaryFolder folder_;
    fs::path file_ = folder_ / "study.db";
    testing::TemporaryFolder disk_folder_;
    fs::path disk_ = disk_folder_.path();
    bool gated_ = false, fails_ = false;
    Gate gate_;
};

TEST_F(Power, AResultIsOnTheDiskWhenTheStoreSaysSoAndNotBefore) {
    const auto store = open();
    ASSERT_TRUE(store->set_source("study: lost"));
    gated_ = true;
    ASSERT_TRUE(store->append(event::Proposed{1, {}, {}}));
    EXPECT_EQ(store->results(), *store->results_on_disk());
    ASSERT_TRUE(store->append(end_of(1)));
    gate_.wait_for(1);
    EXPECT_LT(*store->results_on_disk(), store->results());
    EXPECT_THAT(after_the_loss(), ::testing::IsEmpty());
    gate_.open();
    ASSERT_TRUE(store->settle());
    EXPECT_EQ(store->results(), *store->results_on_disk());
    EXPECT_EQ(after_the_loss().size(), 2u);
}

TEST_F(Power, EveryResultThatIsSaidToBeOnTheDiskComesBackWithAllBeforeIt) {
    const auto store = open();
    ASSERT_TRUE(store->set_source("study: lost"));
    const std::int64_t before = store->results();
    std::int64_t checked = 0;
    for (std::int64_t trial = 1; trial <= 300; ++trial) {
        ASSERT_TRUE(store->append(event::Proposed{trial, {}, {}}));
        ASSERT_TRUE(store->add(event::Reported{trial, 1, {.step = 1}}));
        ASSERT_TRUE(store->append(end_of(trial)));
        const std::int64_t on_disk = *store->results_on_disk() - before;
        EXPECT_LE(on_disk, trial);
        if (on_disk == checked || trial % 50 != 0) continue;
        checked = on_disk;
        ASSERT_TRUE(store->settle());  // no copy is made during the check
        EXPECT_EQ(after_the_loss().size(), static_cast<std::size_t>(3 * trial));
    }
}

TEST_F(Power, AStepReachesTheDiskWithoutAResultAfterIt) {
    const auto store = open();
    ASSERT_TRUE(store->set_source("study: lost"));
    ASSERT_TRUE(store->append(event::Proposed{1, {}, {}}));
    gated_ = true;
    ASSERT_TRUE(store->append(event::Reported{1, 1, {.step = 1}}));
    gate_.wait_for(1);
    gate_.open(2);
    ASSERT_TRUE(store->append(end_of(1)));
    ASSERT_TRUE(store->settle());
}

TEST_F(Power, ALongLogIsMovedIntoTheFileWithoutTheWriter) {
    const auto store = open();
    ASSERT_TRUE(store->set_source("study: lost"));
    ASSERT_TRUE(store->append(event::Proposed{1, {}, {}}));
    const fs::path log = file_.string() + "-wal";
    const auto checkpoints = [&] {  // https://www.sqlite.org/fileformat2.html#walformat
        std::array<char, 16> header{};
        std::ifstream(log, std::ios::binary).read(header.data(), header.size());
        return std::string(header.end() - 4, header.end());
    };
    const std::string before = checkpoints();
    constexpr std::uintmax_t frame = 2048 + 24;
    std::int64_t step = 0;
    while (fs::file_size(log) < 1700 * frame) ASSERT_TRUE(store->append(event::Reported{1, 1, {.step = ++step}}));
    EXPECT_EQ(checkpoints(), before);
    // The thread moves the log after each synchronisation. Commits meanwhile may leave pages for the next time.
    for (int turn = 0; turn < 100 && checkpoints() == before; ++turn) {
        ASSERT_TRUE(store->set_source("study: lost"));  // waits for one
        ASSERT_TRUE(store->append(event::Reported{1, 1, {.step = ++step}}));
    }
    ASSERT_TRUE(store->append(end_of(1)));
    EXPECT_GT(checkpoints(), before);
    ASSERT_TRUE(store->settle());
    EXPECT_EQ(after_the_loss().size(), static_cast<std::size_t>(step + 2));
}

TEST(LogCheckpoints, AreTheWritersWhereOneConnectionHasTheFileForItself) {
    const testing::TemporaryFolder folder;
    const fs::path file = folder / "study.db";
    auto writer = sqlite::Database::open(file, sqlite::Mode::create, 0);
    ASSERT_TRUE(writer) << writer.error().message;
    for (const char* sql : {"PRAGMA locking_mode = EXCLUSIVE", "PRAGMA journal_mode = WAL",
                            "CREATE TABLE study (key TEXT, value TEXT)", "INSERT INTO study VALUES ('a', '')"})
        ASSERT_TRUE(writer->run(sql)) << sql;
    LogCheckpoints checkpoints;
    checkpoints.begin(file, *writer);
    std::uintmax_t log = 0;
    for (int commits = 0; commits < 5000; ++commits) {
        ASSERT_TRUE(writer->run("UPDATE study SET value = " + std::to_string(commits)));
        checkpoints.move_long_log();
        log = fs::file_size(writer->log_name());
    }
    EXPECT_LT(log, 2100u * (4096 + 24));
}

TEST_F(Power, EventsOfAKilledSessionAreOnTheDiskBeforeTheNextOneReportsThem) {
    fails_ = true;  // as if the session had been killed before the synchronisation
    {
        const auto killed = open();
        ASSERT_TRUE(killed->append(event::Proposed{1, {}, {}}));
        ASSERT_TRUE(killed->append(end_of(1)));
        EXPECT_FALSE(killed->settle());
    }
    fails_ = false;
    ASSERT_TRUE(open()->set_source("study: lost"));
    EXPECT_EQ(after_the_loss().size(), 2u);
}

TEST_F(Power, NothingIsStoredAfterTheDiskHasFailed) {
    const auto store = open();
    ASSERT_TRUE(store->set_source("study: lost"));
    fails_ = true;
    ASSERT_TRUE(store->append(event::Proposed{1, {}, {}}));
    ASSERT_TRUE(store->append(end_of(1)));
    ASSERT_FALSE(store->settle());
    const auto refused = store->append(event::Proposed{2, {}, {}});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("I/O error"));
    EXPECT_EQ(store->events(0, 10)->size(), 2u);
}

}  // namespace
}  // namespace hpo
