// The memory of process trees, measured within a time budget.
#include "orchestrator/devices/tree_meter.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>

#include "tests/support/no_threads.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

/// A clock that advances by ten milliseconds at each reading.
class SlowClock final : public Clock {
   public:
    [[nodiscard]] Seconds now() const override { return now_ += Seconds(0.01); }

   private:
    mutable Seconds now_{0};
};

/// A tree with the root 10 and the children 11 to 18. Each process has a hundred pages, most of them shared.
class DataLoaders : public ::testing::Test {
   protected:
    DataLoaders() {
        process(10, 1, 100);
        for (std::int64_t child = 11; child <= 18; ++child) process(child, 10, 100);
        share_all(20);
    }
    void process(std::int64_t pid, std::int64_t parent, std::int64_t pages) {
        const auto folder = root_ / ("proc/" + std::to_string(pid));
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "stat") << pid << " (job) S " << parent << " 1 1 0\n";
        std::ofstream(folder / "statm") << pages << ' ' << pages << " 0 0 0 0 0\n";
    }
    void share_all(std::int64_t kib) {
        for (std::int64_t pid = 10; pid <= 18; ++pid)
            std::ofstream(root_ / ("proc/" + std::to_string(pid) + "/smaps_rollup")) << "Pss: " << kib << " kB\n";
    }
    std::int64_t pass(double budget) {
        return *meter_.pass(std::vector<std::int64_t>{10}, Seconds(budget)).at(10).bytes;
    }

    static constexpr std::int64_t KiB = 1024;
    testing::TemporaryFolder root_;
    SlowClock clock_;
    TreeMeter meter_{clock_, root_.path()};
    std::int64_t page_ = ::sysconf(_SC_PAGESIZE);
};

TEST_F(DataLoaders, SharedMemoryCountsOnce) { EXPECT_EQ(pass(1), 9 * 20 * KiB); }

TEST_F(DataLoaders, APassStopsReadingSharesAtItsBudgetAndTheNextContinues) {
    EXPECT_EQ(pass(1), 9 * 20 * KiB);
    share_all(30);  // each share that is read again adds 10 KiB
    std::int64_t before = 9 * 20 * KiB;
    for (int passes = 0; passes < 3; ++passes) {
        const std::int64_t now = pass(0.03);
        EXPECT_EQ((now - before) / (10 * KiB), 3);
        before = now;
    }
    EXPECT_EQ(before, 9 * 30 * KiB);
}

TEST_F(DataLoaders, AProcessWhoseShareIsUnreadCountsLikeTheOthers) { EXPECT_EQ(pass(0.03), 9 * 20 * KiB); }

TEST_F(DataLoaders, GrowthBetweenTwoReadingsCounts) {
    pass(1);
    process(18, 10, 150);
    EXPECT_GE(pass(0), 9 * 20 * KiB + 50 * page_);
}

TEST_F(DataLoaders, AMissingTreeHoldsNothingAndASingleProcessItsResidentMemory) {
    process(20, 1, 7);
    const auto readings = meter_.pass(std::vector<std::int64_t>{20, 99}, Seconds(1));
    EXPECT_EQ(readings.at(20).bytes, 7 * page_);
    EXPECT_TRUE(readings.at(99).processes.empty());
    EXPECT_EQ(readings.at(99).bytes, 0);
}

TEST(TreeWatch, MeasuresARealTreeWithoutBlockingTheReader) {
    const pid_t child = ::fork();
    if (child == 0)
        for (;;) ::pause();
    TreeWatch watch;
    const std::vector<std::int64_t> roots{::getpid()};
    EXPECT_FALSE(watch.latest(roots).front()) << "no pass has measured it yet";
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::optional<TreeReading> reading;
    while (!(reading = watch.latest(roots).front()) && std::chrono::steady_clock::now() < deadline) ::usleep(1000);
    ASSERT_TRUE(reading);
    EXPECT_THAT(reading->processes, ::testing::Contains(child));
    EXPECT_GT(reading->bytes, 1 << 20);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

TEST(TreeWatch, HasNoReadingsWhileTheSystemHasNoThreadLeft) {
    TreeWatch watch;
    const std::vector<std::int64_t> roots{::getpid()};
    {
        const testing::NoThreads none;
        for (int i = 0; i < 3; ++i) EXPECT_FALSE(watch.latest(roots).front());
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!watch.latest(roots).front() && std::chrono::steady_clock::now() < deadline) ::usleep(1000);
    EXPECT_TRUE(watch.latest(roots).front());
}

}  // namespace
}  // namespace hpo
