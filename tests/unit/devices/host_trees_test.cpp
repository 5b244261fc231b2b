#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "orchestrator/devices/host.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

/// Processes whose /proc entries are files of the test.
class FakeProcesses : public ::testing::Test {
   protected:
    void process(std::int64_t pid, std::int64_t parent, std::int64_t resident_pages, const std::string& name = "job") {
        const auto folder = root_ / ("proc/" + std::to_string(pid));
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "stat") << pid << " (" << name << ") S " << parent << " 1 1 0\n";
        std::ofstream(folder / "statm") << 2 * resident_pages << ' ' << resident_pages << " 0 0 0 0 0\n";
    }
    void proportional(std::int64_t pid, std::int64_t kib) {
        std::ofstream(root_ / ("proc/" + std::to_string(pid) + "/smaps_rollup"))
            << "55c0-7ffe ---p 00000000 00:00 0 [rollup]\nRss: 999 kB\nPss: " << kib << " kB\nPss_Dirty: 1 kB\n";
    }
    std::vector<std::vector<std::int64_t>> trees_of(std::vector<std::int64_t> roots) {
        return trees(roots, root_.path());
    }
    std::vector<std::int64_t> memory_of(std::vector<std::int64_t> roots) {
        return tree_memory(trees_of(std::move(roots)), root_.path());
    }

    testing::TemporaryFolder root_;
    std::int64_t page_ = ::sysconf(_SC_PAGESIZE);
};

TEST_F(FakeProcesses, ATreeIsARootWithAllItsDescendants) {
    process(1, 0, 1);
    process(10, 1, 1);
    process(11, 10, 1);
    process(12, 11, 1);
    process(20, 1, 1);
    process(21, 20, 1);
    const auto readings = trees_of({10, 20, 99});
    EXPECT_THAT(readings[0], UnorderedElementsAre(10, 11, 12));
    EXPECT_THAT(readings[1], UnorderedElementsAre(20, 21));
    EXPECT_TRUE(readings[2].empty()) << "a process that is gone has no tree";
    EXPECT_TRUE(trees_of({}).empty());
}

TEST_F(FakeProcesses, AParentIsReadAfterANameWithBracketsAndSpaces) {
    process(10, 1, 1);
    process(11, 10, 1, "a) S 1 (b");
    EXPECT_THAT(trees_of({10})[0], UnorderedElementsAre(10, 11));
}

TEST_F(FakeProcesses, ACycleOfParentsTerminates) {
    process(10, 11, 1);
    process(11, 10, 1);
    EXPECT_THAT(trees_of({10})[0], UnorderedElementsAre(10, 11));
}

TEST_F(FakeProcesses, ASingleProcessCountsItsWholeResidentMemory) {
    process(10, 1, 100);
    proportional(10, 4);
    EXPECT_THAT(memory_of({10}), ElementsAre(100 * page_));
}

TEST_F(FakeProcesses, SharedMemoryCountsOnce) {
    process(10, 1, 100);
    process(11, 10, 100);
    proportional(10, 240);
    proportional(11, 260);
    EXPECT_THAT(memory_of({10, 99}), ElementsAre(500 * 1024, 0));
}

TEST_F(FakeProcesses, WithoutSmapsRollupResidentMemoryCounts) {
    process(10, 1, 100);
    process(11, 10, 50);
    proportional(11, 8);
    EXPECT_THAT(memory_of({10}), ElementsAre(100 * page_ + 8 * 1024));
}

TEST(Trees, IncludeAChildAndItsMemory) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        (void)!::write(ready[1], "x", 1);
        for (;;) ::pause();
    }
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    const std::vector<std::int64_t> roots{::getpid(), child};
    const auto readings = trees(roots);
    EXPECT_THAT(readings[0], ::testing::IsSupersetOf({std::int64_t{::getpid()}, std::int64_t{child}}));
    EXPECT_THAT(readings[1], ElementsAre(child));
    const auto memory = tree_memory(readings);
    EXPECT_GT(memory[0], 1 << 20);
    EXPECT_GT(memory[1], 0);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
}

}  // namespace
}  // namespace hpo
