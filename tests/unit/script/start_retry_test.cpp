#include "orchestrator/script/start_retry.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hpo::script {
namespace {

using namespace std::chrono_literals;

constexpr StartRetry::Time first_try{1h};

TEST(StartRetry, PausesGrowToFiveSecondsAndHpoIsToldOnceTheyReachOne) {
    StartRetry retry;
    auto now = first_try;
    std::vector<StartRetry::Time::duration> pauses;
    std::vector<bool> told;
    for (int i = 0; i < 9; ++i) {
        EXPECT_TRUE(retry.wait_after(now, first_try));
        told.push_back(retry.tells());
        pauses.push_back(*retry.at() - now);
        EXPECT_FALSE(retry.due(now));
        now = *retry.at();
        EXPECT_TRUE(retry.due(now));
        EXPECT_TRUE(retry.end_wait());
    }
    EXPECT_EQ(pauses,
              (std::vector<StartRetry::Time::duration>{50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 5s, 5s}));
    EXPECT_EQ(told, (std::vector{false, false, false, false, false, true, false, false, false}));
}

TEST(StartRetry, AShortageOfMoreThanTenMinutesIsGivenUp) {
    StartRetry retry;
    EXPECT_TRUE(retry.wait_after(first_try + StartRetry::longest_shortage, first_try));
    retry.end_wait();
    EXPECT_FALSE(retry.wait_after(first_try + StartRetry::longest_shortage + 1ms, first_try));
    EXPECT_FALSE(retry.at());
}

TEST(StartRetry, WithoutAWaitNothingIsDueOrEnded) {
    StartRetry retry;
    EXPECT_FALSE(retry.due(first_try));
    EXPECT_FALSE(retry.end_wait());
}

}  // namespace
}  // namespace hpo::script
