// Waking the event loop from other threads.
#include "orchestrator/execution/wake_up.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace hpo {
namespace {

TEST(WakeUpTest, OtherThreadsCallIntoTheLoopOnceOrMore) {
    boost::asio::io_context loop;
    int calls = 0;
    const std::thread::id own = std::this_thread::get_id();
    WakeUp wake_up(loop, [&] {
        ++calls;
        EXPECT_EQ(std::this_thread::get_id(), own);
        loop.stop();
    });
    std::thread other([&] { wake_up.wake(); });
    loop.run();
    other.join();
    EXPECT_EQ(calls, 1);
}

TEST(WakeUpTest, CallsThatNobodyTakesInNeverBlockAndCountAsOne) {
    boost::asio::io_context loop;
    int calls = 0;
    WakeUp wake_up(loop, [&] { ++calls; });
    for (int i = 0; i < 100'000; ++i) wake_up.wake();  // more than a pipe holds
    while (loop.poll_one() != 0) {
    }
    EXPECT_GE(calls, 1);
    const int before = calls;
    wake_up.wake();
    while (loop.poll_one() != 0) {
    }
    EXPECT_EQ(calls, before + 1);
}

}  // namespace
}  // namespace hpo
