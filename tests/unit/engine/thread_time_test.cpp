// The times of the threads of a process tree.
#include "orchestrator/engine/thread_time.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

class ThreadTimes : public ::testing::Test {
   protected:
    void thread(int process, int number, const std::string& schedstat, const std::string& children = "") {
        const auto folder = folder_.path() / std::to_string(process) / "task" / std::to_string(number);
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "schedstat") << schedstat;
        std::ofstream(folder / "children") << children;
    }
    testing::TemporaryFolder folder_;
};

TEST_F(ThreadTimes, AreSummedOverAllThreadsOfTheTree) {
    thread(10, 10, "1000000000 500000000 7", "20 30");
    thread(10, 11, "2000000000 0 7");
    thread(20, 20, "250000000 250000000 3");
    thread(40, 40, "9000000000 9000000000 3");
    const auto time = thread_time_of_tree(10, folder_.path());
    ASSERT_TRUE(time);
    EXPECT_DOUBLE_EQ(time->running, 3.25);
    EXPECT_DOUBLE_EQ(time->waiting, 0.75);
}

TEST_F(ThreadTimes, AreAbsentForAProcessThatIsGoneOrAKernelThatDoesNotTell) {
    EXPECT_FALSE(thread_time_of_tree(10, folder_.path()));
    thread(11, 11, "");
    EXPECT_FALSE(thread_time_of_tree(11, folder_.path()));
}

}  // namespace
}  // namespace hpo
