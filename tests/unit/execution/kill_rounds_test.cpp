#include "orchestrator/execution/kill_rounds.hpp"

#include <gtest/gtest.h>

namespace hpo::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr KillRounds::Time begin{1h};

TEST(KillRounds, NoneIsLeftOnceEnoughRoundsInARowHaveFoundNone) {
    KillRounds rounds(2);
    EXPECT_FALSE(rounds.none_left());
    rounds.took(begin, 0);
    EXPECT_FALSE(rounds.none_left());
    rounds.took(begin + 2ms, 1);
    rounds.took(begin + 4ms, 0);
    EXPECT_FALSE(rounds.none_left()) << "one was found in between";
    rounds.took(begin + 6ms, 0);
    EXPECT_TRUE(rounds.none_left());
    rounds.begin();
    EXPECT_FALSE(rounds.none_left()) << "another worker";
}

TEST(KillRounds, PausesGrowWhileProcessesDoNotEnd) {
    KillRounds rounds(1);
    rounds.took(begin, 3);
    EXPECT_EQ(rounds.pause(), 10ms);
    rounds.took(begin + 1s, 3);
    EXPECT_EQ(rounds.pause(), 100ms);
    rounds.took(begin + 10s, 3);
    EXPECT_EQ(rounds.pause(), 1s);
    rounds.took(begin + 11s, 0);
    EXPECT_EQ(rounds.pause(), 2ms);
}

TEST(KillRounds, ProcessesThatSigkillDoesNotEndAreToldOncePerWorkerAndNotWaitedForWithoutEnd) {
    KillRounds rounds(1);
    for (int worker = 0; worker < 2; ++worker) {
        rounds.took(begin, 1);
        EXPECT_FALSE(rounds.tells_of_stuck());
        rounds.took(begin + KillRounds::stuck_after, 1);
        EXPECT_TRUE(rounds.tells_of_stuck());
        rounds.took(begin + KillRounds::stuck_after + 1s, 1);
        EXPECT_FALSE(rounds.tells_of_stuck());
        EXPECT_FALSE(rounds.hopeless());
        rounds.took(begin + KillRounds::hopeless_after, 1);
        EXPECT_TRUE(rounds.hopeless());
        rounds.took(begin + KillRounds::hopeless_after + 1s, 0);
        EXPECT_TRUE(rounds.none_left());
        rounds.begin();
        EXPECT_FALSE(rounds.hopeless());
    }
}

TEST(KillRounds, NothingIsHopelessOnceNoProcessIsLeft) {
    KillRounds rounds(2);
    rounds.took(begin, 1);
    rounds.took(begin + KillRounds::hopeless_after, 0);
    EXPECT_TRUE(rounds.hopeless()) << "one more round must find none";
    rounds.took(begin + KillRounds::hopeless_after + 2ms, 0);
    EXPECT_FALSE(rounds.hopeless());
}

TEST(KillRounds, TheTimeOfAnEarlierKillDoesNotCount) {
    KillRounds rounds(1);
    rounds.took(begin, 1);
    rounds.took(begin + 1s, 0);
    rounds.took(begin + 1h, 1);
    EXPECT_EQ(rounds.pause(), 10ms);
    EXPECT_FALSE(rounds.tells_of_stuck());
}

}  // namespace
}  // namespace hpo::supervisor
