// Trials that repeat an earlier one are recognised by their values.
#include "orchestrator/stopping/repeats.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace hpo {
namespace {

class RepeatedTrials : public ::testing::Test {
   protected:
    void report(std::int64_t trial, std::initializer_list<double> values) {
        std::int64_t step = 0;
        for (const double value : values) repeats_.report(trial, ++step, value);
    }
    Repeats repeats_;
};

TEST_F(RepeatedTrials, AreThoseWithThreeEqualValues) {
    report(1, {0.9, 0.8, 0.7});
    report(2, {0.9, 0.8});
    EXPECT_EQ(repeats_.original(2), std::nullopt);
    repeats_.report(2, 3, 0.7);
    EXPECT_EQ(repeats_.original(2), 1);
    EXPECT_EQ(repeats_.original(1), std::nullopt);
}

TEST_F(RepeatedTrials, AllRepeatTheFirst) {
    for (std::int64_t trial = 1; trial <= 4; ++trial) report(trial, {3, 2, 1});
    for (std::int64_t trial = 2; trial <= 4; ++trial) EXPECT_EQ(repeats_.original(trial), 1);
}

TEST_F(RepeatedTrials, AreNotThoseThatDifferInOneStep) {
    report(1, {0.9, 0.8, 0.7});
    report(2, {0.9, 0.81, 0.7});
    report(3, {0.9, 0.8, 0.71});
    EXPECT_EQ(repeats_.original(2), std::nullopt);
    EXPECT_EQ(repeats_.original(3), std::nullopt);
}

TEST_F(RepeatedTrials, AMetricThatStaysAtChanceLevelTellsNothing) {
    report(1, {0.1, 0.1, 0.1, 0.1, 0.2, 0.3});
    report(2, {0.1, 0.1, 0.1, 0.1, 0.4, 0.5});
    report(3, {0.1, 0.1, 0.1, 0.1, 0.2, 0.3});
    EXPECT_EQ(repeats_.original(2), std::nullopt);
    EXPECT_EQ(repeats_.original(3), 1);
}

TEST_F(RepeatedTrials, AreNotRecognisedWithoutAllOfTheirFirstSteps) {
    report(1, {0.9, 0.8, 0.7});
    repeats_.report(2, 1, 0.9);
    repeats_.report(2, 3, 0.7);
    repeats_.report(2, 4, 0.8);
    EXPECT_EQ(repeats_.original(2), std::nullopt);
}

TEST_F(RepeatedTrials, OneThatFailedIsNotRepeated) {
    report(1, {0.9, 0.8, 0.7});
    repeats_.failed(1);
    report(2, {0.9, 0.8, 0.7});
    EXPECT_EQ(repeats_.original(2), std::nullopt);
    report(3, {0.9, 0.8, 0.7});
    EXPECT_EQ(repeats_.original(3), 2);
}

}  // namespace
}  // namespace hpo
