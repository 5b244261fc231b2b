// Work that threads share.
#include "worker/backends/cpu/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <vector>

namespace hpo {
namespace {

TEST(Parts, HoldEachItemOnce) {
    for (const std::int64_t items : {0, 1, 5, 63, 64, 65, 448, 1023, 100'000})
        for (const std::int64_t size : {1, 16, 64, 1000})
            for (const Parts& parts : {parts_of(items, size), cut(items, size), cut(items, size, 16)}) {
                std::int64_t held = 0;
                for (int part = 0; part < parts.count; ++part) {
                    EXPECT_EQ(parts.first(part), held);
                    EXPECT_TRUE(parts.length(part) > 0 || items == 0);
                    held += parts.length(part);
                }
                EXPECT_EQ(held, items) << size;
            }
}

TEST(Parts, OfOneSizeDoNotDependOnTheNumberOfItems) {
    EXPECT_EQ(parts_of(1000, 64).first(3), parts_of(300, 64).first(3));
    EXPECT_EQ(parts_of(1000, 64).count, 16);
}

TEST(Parts, AreAsManyAsShareTheWorkEvenlyWhereTheResultIsTheSame) {
    EXPECT_EQ(cut(448, 64, 16).size, 112);  // four, where seven would leave one of two threads without work
    EXPECT_EQ(cut(14, 1).count, 14);
    EXPECT_EQ(cut(100, 60).count, 1);
    EXPECT_EQ(cut(1'000'000, 10).count, 32);
}

TEST(ThreadPool, CallsTheWorkOnceForEachPartWithAnyNumberOfThreads) {
    ThreadPool pool;
    for (const int threads : {1, 2, 7, 3, 1, 2}) {
        std::vector<int> cores(static_cast<std::size_t>(threads));
        std::iota(cores.begin(), cores.end(), 0);
        pool.use(cores);
        ASSERT_EQ(pool.threads(), threads);
        for (int parts = 0; parts < 200; ++parts) {
            std::vector<std::atomic<int>> calls(static_cast<std::size_t>(parts));
            pool.run(parts, [&](int part) { ++calls[static_cast<std::size_t>(part)]; });
            for (const auto& count : calls) ASSERT_EQ(count, 1);
        }
    }
}

TEST(ThreadPool, ShowsTheCallerWhatTheOthersHaveWritten) {
    ThreadPool pool;
    pool.use(std::vector<int>{0, 1, 2});
    std::vector<int> written(64);
    for (int round = 1; round < 2000; ++round) {
        pool.run(64, [&](int part) { written[static_cast<std::size_t>(part)] = round; });
        ASSERT_EQ(std::accumulate(written.begin(), written.end(), 0), 64 * round);
    }
}

TEST(Contention, IsHighIfMuchOfFiftyMillisecondsWasSpentWaitingForOthers) {
    using std::chrono::milliseconds;
    Contention contention;
    for (int i = 0; i < 4; ++i)
        EXPECT_FALSE(contention.is_high(milliseconds(6), milliseconds(4))) << "not enough is known";
    EXPECT_TRUE(contention.is_high(milliseconds(6), milliseconds(4)));
    for (int i = 0; i < 4; ++i) EXPECT_FALSE(contention.is_high(milliseconds(9), milliseconds(1)));
}

TEST(ThreadPool, WithoutCoresIsTheCallingThreadAlone) {
    ThreadPool pool;
    pool.use(std::vector<int>{0, 1});
    pool.use({});
    EXPECT_EQ(pool.threads(), 1);
    int sum = 0;
    pool.run(5, [&](int part) { sum += part; });
    EXPECT_EQ(sum, 10);
}

}  // namespace
}  // namespace hpo
