// Threads beside the one that the process began with.
#include "hpo/threads.hpp"

#include <gtest/gtest.h>

#include <new>

namespace hpo {
namespace {

TEST(ThreadsDeathTest, AThreadWithoutMemoryEndsTheProcessWithTheReason) {
    EXPECT_EXIT(start_thread("hpo-test", [] { throw std::bad_alloc(); }).join(), ::testing::ExitedWithCode(1),
                "^out of memory: .*free some, then run the same command again\n$");
}

}  // namespace
}  // namespace hpo
