// Trials that are not paused, since their restart would take longer than their remaining steps.
#include "orchestrator/stopping/restart.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "hpo/random.hpp"
#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

Study script(std::int64_t epochs) {
    Study study;
    study.worker = ScriptWorker{.command = {"train"}};
    study.budget.epochs = epochs;
    return study;
}

/// A trial after `steps` steps that took `pace` seconds each, after a start of `start` seconds.
TrialRecord after(std::int64_t number, std::int64_t steps, double start, double pace) {
    TrialRecord trial;
    trial.number = number;
    trial.attempt = 1;
    trial.state = TrialState::running;
    for (std::int64_t step = 1; step <= steps; ++step) {
        Report report;
        report.step = step;
        report.seconds = start + pace * static_cast<double>(step);
        trial.curve.push_back(report);
    }
    trial.starts.add({start + pace, 1});
    return trial;
}

TrialRecord complete(std::int64_t steps) {
    TrialRecord trial = after(1, steps, 0, 1);
    trial.state = TrialState::complete;
    return trial;
}

TEST(Restart, OfASlowScriptIsDearerThanItsRest) {
    Restarts restarts(script(50));
    const auto slow = restarts.of(after(1, 17, 2, 0.02), false);
    ASSERT_TRUE(slow);
    EXPECT_NEAR(slow->cost(), 2 + 17 * 0.02, 1e-9);
    EXPECT_NEAR(slow->rest(), 33 * 0.02, 1e-9);
    EXPECT_TRUE(slow->is_dearer());
    EXPECT_THAT(restart_text(*slow), MentionsInOrder("2.3 s", "repeat", "33 steps", "660 ms"));
    const auto checkpointed = Restarts(script(50)).of(after(1, 17, 2, 0.02), true);
    EXPECT_THAT(restart_text(*checkpointed), ::testing::AllOf(MentionsInOrder("2.0 s", "33 steps", "660 ms"),
                                                              ::testing::Not(::testing::HasSubstr("repeat"))));
    EXPECT_FALSE(Restarts(script(50)).of(after(1, 17, 2, 1), false)->is_dearer()) << "its steps take longer";
}

TEST(Restart, WithoutACheckpointIsDearerAfterHalfOfTheSteps) {
    Restarts restarts(script(50));
    EXPECT_FALSE(restarts.of(after(1, 25, 0, 10), false)->is_dearer());
    EXPECT_TRUE(restarts.of(after(2, 26, 0, 10), false)->is_dearer());
    EXPECT_FALSE(restarts.of(after(3, 26, 0, 10), true)->is_dearer());
}

TEST(Restart, ThatTakesNoNoticeableTimeNeverSparesATrial) {
    EXPECT_FALSE(Restarts(script(50)).of(after(1, 49, 0.2, 1e-6), false)->is_dearer());
    EXPECT_TRUE(Restarts(script(50)).of(after(1, 49, 0.3, 1e-6), false)->is_dearer());
}

TEST(Restart, OfTheNativeWorkerAndOfUntimedTrialsIsNotKnown) {
    Study native = script(50);
    native.worker = NativeWorker{};
    EXPECT_FALSE(Restarts(native).of(after(1, 17, 2, 0.02), false));
    TrialRecord untimed = after(1, 17, 2, 0.02);
    for (Report& report : untimed.curve) report.seconds.reset();
    EXPECT_FALSE(Restarts(script(50)).of(untimed, false));
    TrialRecord earlier = after(1, 17, 2, 0.02);  // by a version that did not measure start-ups
    earlier.starts = {};
    EXPECT_FALSE(Restarts(script(50)).of(earlier, false));
}

TEST(Restart, AfterASingleStepCountsByTheStepsOfOtherTrials) {
    Restarts restarts(script(50));
    EXPECT_FALSE(restarts.of(after(1, 1, 2, 0.02), false)) << "start and step cannot be told apart yet";
    restarts.reported(after(2, 2, 2, 0.02));
    const auto known = restarts.of(after(1, 1, 2, 0.02), false);
    ASSERT_TRUE(known);
    EXPECT_NEAR(known->start, 2, 1e-9);
    EXPECT_TRUE(known->is_dearer());
}

TEST(Restart, OneSlowStartSparesNoTrial) {
    Restarts restarts(script(50));
    for (std::int64_t n = 1; n <= 5; ++n) EXPECT_FALSE(restarts.of(after(n, 5, 0.1, 0.02), true)->is_dearer());
    EXPECT_FALSE(restarts.of(after(6, 5, 20, 0.02), true)->is_dearer()) << "the machine stood still";
}

TEST(Restart, CountsTheStepsThatProgramsHave) {
    Restarts restarts(script(50));
    EXPECT_EQ(restarts.of(after(1, 3, 1, 0.1), true)->left, 47);
    restarts.ended(complete(5));
    restarts.ended(complete(7));
    EXPECT_EQ(restarts.of(after(2, 3, 1, 0.1), true)->left, 3);
    EXPECT_TRUE(restarts.of(after(3, 3, 1, 0.1), true)->is_dearer());
    EXPECT_EQ(restarts.of(after(4, 9, 1, 0.1), true)->left, 0) << "it already has more than the others";
}

TEST(Restart, IsDearerByTimeAloneWhateverTheNumbers) {
    const double values[] = {0, 1e-9, 0.02, 1, 1e3, 1e12, INFINITY, NAN};
    std::uint64_t draws = 0;
    for (const double start : values)
        for (const double step : values)
            for (int i = 0; i < 20; ++i) {
                const auto number = [&] {
                    return static_cast<std::int64_t>(100 * draw_unit(1, Purpose::synthetic, 0, draws++));
                };
                const Restart restart{start, step, number(), number()};
                if (!restart.is_dearer()) continue;
                EXPECT_FALSE(std::isnan(start) || std::isnan(step));
                EXPECT_GE(restart.cost(), least_restart);
                EXPECT_GT(restart.cost(), restart.rest());
                Restart dearer = restart;
                ++dearer.repeated, dearer.left -= 1;
                EXPECT_TRUE(dearer.is_dearer()) << start << " " << step;
            }
}

TEST(RecentMedian, ForgetsOldValuesAndIgnoresImpossibleOnes) {
    RecentMedian median;
    EXPECT_FALSE(median.value());
    for (const double value : std::vector<double>{NAN, -1, INFINITY}) median.add(value);
    EXPECT_FALSE(median.value());
    for (const double value : {3.0, 1.0, 2.0}) median.add(value);
    EXPECT_EQ(median.value(), 2);
    for (int i = 0; i < 31; ++i) median.add(7);
    EXPECT_EQ(median.value(), 7);
}

TEST(TrialLengths, AreTheBudgetOrTheMeanOfCompletePrograms) {
    TrialLengths native(Study{});
    native.add(complete(3));
    EXPECT_EQ(native.expected(1), Study{}.budget.epochs);
    TrialLengths lengths(script(50));
    EXPECT_FALSE(lengths.expected(1)) << "no program has come to its end";
    TrialRecord stopped = complete(2);
    stopped.state = TrialState::stopped;
    lengths.add(stopped);
    EXPECT_FALSE(lengths.expected(1));
    lengths.add(complete(4));
    lengths.add(complete(7));
    EXPECT_EQ(lengths.expected(1), 6);
    EXPECT_EQ(lengths.expected(20), 20);
    lengths.add(complete(900));
    EXPECT_EQ(lengths.expected(1), 50);
}

}  // namespace
}  // namespace hpo
