// The search for the best number of trials at once, on simulated machines.
#include <gmock/gmock.h>

#include <cmath>

#include "orchestrator/scheduling/concurrency.hpp"
#include "orchestrator/scheduling/device_concurrency.hpp"
#include "tests/unit/scheduling/simulated_machine.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

double two_cores(std::int64_t n) { return std::min(1.0, 2.0 / static_cast<double>(n)); }
double saturated(std::int64_t n) { return 1.0 / static_cast<double>(n); }
double waiting(std::int64_t) { return 1; }
/// Trials of two threads each on two cores are saturated with one, and lose a little by switching.
double thrashing(std::int64_t n) { return 1.0 / (static_cast<double>(n) * (1 + 0.1 * static_cast<double>(n - 1))); }

TEST(ConcurrencySearch, FindsTwoOnTwoCoresWithTrialsOfOneThread) {
    for (const std::int64_t start : {1, 2, 5}) {
        const Simulated result = simulate({.speed = two_cores, .cores = start});
        EXPECT_EQ(result.number(), 2) << "from " << start;
        EXPECT_LE(result.most_at_once, std::max<std::int64_t>(start + start / 2, 3));
        EXPECT_THAT(result.concurrency.workers().text(), Mentions("3: 2.00"));
    }
}

TEST(ConcurrencySearch, FindsOneWhereOneTrialFillsTheMachine) {
    EXPECT_EQ(simulate({.speed = saturated}).number(), 1);
    EXPECT_EQ(simulate({.speed = thrashing}).number(), 1);
    EXPECT_EQ(simulate({.speed = saturated, .cores = 8}).number(), 1) << "step by step from eight";
}

TEST(ConcurrencySearch, GoesUpWhereTrialsWait) {
    EXPECT_EQ(simulate({.speed = waiting}).number(), 16) << "the upper limit";
    EXPECT_THAT(simulate({.speed = waiting, .most = 100, .trials = 40}).number(), AllOf(Ge(9), Le(40)));
    // A server answers eight requests at once.
    const auto server = [](std::int64_t n) { return std::min(1.0, 8.0 / static_cast<double>(n)); };
    EXPECT_THAT(simulate({.speed = server, .most = 64, .trials = 200}).number(), AllOf(Ge(8), Le(9)));
}

TEST(ConcurrencySearch, NoiseOfTenPercentDoesNotMisleadIt) {
    int right_for_cores = 0, right_for_saturated = 0, right_for_waiting = 0;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        right_for_cores += simulate({.speed = two_cores, .noise = 0.1, .seed = seed}).number() == 2 ? 1 : 0;
        right_for_saturated += simulate({.speed = saturated, .noise = 0.1, .seed = seed}).number() == 1 ? 1 : 0;
        right_for_waiting += simulate({.speed = waiting, .noise = 0.1, .seed = seed}).number() >= 6 ? 1 : 0;
    }
    EXPECT_GE(right_for_cores, 47);
    EXPECT_GE(right_for_saturated, 47);
    EXPECT_GE(right_for_waiting, 47);
}

/// Returns for how many of 100 seeds the search settles on `number`.
int settle_on(std::int64_t number, SimulatedMachine machine) {
    int right = 0;
    for (machine.seed = 1; machine.seed <= 100; ++machine.seed) right += simulate(machine).number() == number ? 1 : 0;
    return right;
}

TEST(ConcurrencySearch, OutliersAndAMachineThatIsHeldUpDoNotMisleadIt) {
    for (const std::int64_t start : {1, 2, 3})
        EXPECT_GE(
            settle_on(2, {.speed = two_cores, .cores = start, .noise = 0.2, .outliers = 0.05, .held_up_each = 20}), 95)
            << "from " << start;
    EXPECT_GE(settle_on(1, {.speed = saturated, .noise = 0.2, .outliers = 0.05, .held_up_each = 20}), 95);
    const auto four_cores = [](std::int64_t n) { return std::min(1.0, 4.0 / static_cast<double>(n)); };
    EXPECT_GE(settle_on(4, {.speed = four_cores, .noise = 0.2, .outliers = 0.05}), 95) << "it still goes up";
}

TEST(ConcurrencySearch, FindsTheNumberWithinAFewTrialsWithoutNoise) {
    EXPECT_EQ(simulate({.speed = two_cores, .trials = 8}).number(), 2);
    EXPECT_EQ(simulate({.speed = two_cores, .cores = 1, .trials = 8}).number(), 2);
    EXPECT_EQ(simulate({.speed = saturated, .trials = 8}).number(), 1);
}

TEST(ConcurrencySearch, OneObservationDoesNotMakeARise) {
    ConcurrencySearch search(1, 4);
    search.add({1, 2, 0});
    search.decide(100, 2);
    EXPECT_EQ(search.number(), 1);
    search.add({1, 2, 0});
    search.decide(100, 1);
    EXPECT_EQ(search.number(), 2);
    search.add({2, 3, std::log(2.0 / 3)});
    search.decide(100, 3);
    EXPECT_EQ(search.number(), 2);
    EXPECT_LE(search.limit(), 2) << "one that shows none is enough";
}

TEST(ConcurrencySearch, UnequalTrialsAndAMachineThatSlowsDownDoNotMisleadIt) {
    int right = 0;
    for (std::uint64_t seed = 1; seed <= 50; ++seed)
        right +=
            simulate({.speed = two_cores, .noise = 0.03, .drift = 0.002, .unequal = 1.5, .seed = seed}).number() == 2
                ? 1
                : 0;
    EXPECT_GE(right, 47) << "sizes from 0.22 to 4.5, and half the speed after 500 seconds";
}

TEST(ConcurrencySearch, CostsLittleTimeWhereTheStartWasRight) {
    const SimulatedMachine machine{.speed = two_cores, .most = 2, .trials = 64};
    const double seconds = simulate(machine).seconds;
    EXPECT_LT(seconds, 1.02 * 64 * 21 / 2);
}

TEST(ConcurrencySearch, FusedTrialsAreCountedInTheirWorker) {
    // Launches dominate up to eight replicas.
    const auto launches = [](std::int64_t n) { return std::min(1.0, 8.0 / static_cast<double>(n)); };
    const Simulated result = simulate({.speed = launches, .cores = 4, .trials = 200, .slots = 32});
    EXPECT_THAT(result.concurrency.fused().number(), AllOf(Ge(8), Le(9)));
    EXPECT_EQ(result.concurrency.workers().number(), 1);
    EXPECT_EQ(result.concurrency.workers().text(), "");
}

TEST(ConcurrencySearch, TheFirstNumberOfFusedTrialsIsCorrectedInBothDirections) {
    const auto found = [](std::int64_t right) {
        const auto speed = [right](std::int64_t n) {
            return std::min(1.0, static_cast<double>(right) / static_cast<double>(n));
        };
        const Simulated result =
            simulate({.speed = speed, .cores = fused_at_first, .trials = 600, .noise = 0.02, .slots = 150});
        return result.concurrency.fused().number();
    };
    EXPECT_THAT(found(8), AllOf(Ge(8), Le(10)));
    EXPECT_THAT(found(32), AllOf(Ge(24), Le(36)));
    EXPECT_THAT(found(100), AllOf(Ge(72), Le(120)));
}

TEST(ConcurrencySearch, ALargerShareOfCoresThatOthersFillIsNoGain) {
    for (const double others : {1.0, 2.0, 4.0, 8.0}) {
        for (const std::int64_t start : {1, 2, 4}) {
            SimulatedMachine machine{.cores = start, .real_cores = 2, .other_threads = others};
            EXPECT_GT(simulate(machine).number(), 2) << "by rates alone, beside " << others << " threads";
            machine.reads_threads = true;
            EXPECT_EQ(simulate(machine).number(), 2) << "beside " << others << " threads, from " << start;
        }
    }
}

TEST(ConcurrencySearch, ThreadTimesChangeNothingWhereNothingElseRuns) {
    EXPECT_EQ(simulate({.cores = 1, .real_cores = 2, .reads_threads = true}).number(), 2);
    EXPECT_EQ(simulate({.cores = 4, .real_cores = 4, .reads_threads = true}).number(), 4);
    // Trials that sleep three quarters of the time: four of them fill a core.
    EXPECT_THAT(simulate({.most = 32, .trials = 200, .real_cores = 2, .reads_threads = true, .asleep = 0.75}).number(),
                AllOf(Ge(7), Le(9)));
    EXPECT_THAT(
        simulate(
            {.most = 32, .trials = 200, .real_cores = 2, .other_threads = 2, .reads_threads = true, .asleep = 0.75})
            .number(),
        AllOf(Ge(6), Le(9)));
}

TEST(ConcurrencySearch, BeginsWithWhatItRemembersAndLeavesItWhereItIsWrong) {
    const FoundConcurrency remembered = simulate({.speed = two_cores}).concurrency.workers().found();
    EXPECT_EQ(remembered.number, 2);
    const Simulated again = simulate({.speed = two_cores, .cores = 1, .remembered = remembered});
    EXPECT_EQ(again.number(), 2);
    const auto four_cores = [](std::int64_t n) { return std::min(1.0, 4.0 / static_cast<double>(n)); };
    EXPECT_EQ(simulate({.speed = four_cores, .remembered = remembered}).number(), 4);
    EXPECT_EQ(simulate({.speed = saturated, .trials = 200, .remembered = {9, {}}}).number(), 1);
}

TEST(ConcurrencySearch, ATrialThatReportsOnceIsNotMeasuredAndNothingChanges) {
    const Simulated result = simulate({.speed = two_cores, .cores = 4, .steps = 1});
    EXPECT_EQ(result.number(), 4);
    EXPECT_EQ(result.most_at_once, 4);
    EXPECT_EQ(result.concurrency.workers().text(), "");
    EXPECT_TRUE(result.concurrency.workers().found().changes.empty());
}

TEST(ConcurrencySearch, ItsUpperLimitHolds) {
    for (const std::int64_t most : {1, 3, 7}) {
        const Simulated result = simulate({.speed = waiting, .cores = 2, .most = most});
        EXPECT_EQ(result.number(), most);
        EXPECT_EQ(result.most_at_once, most);
    }
}

TEST(ThroughputCurve, CombinesChainsOfObservations) {
    ThroughputCurve curve;
    EXPECT_FALSE(curve.gain(1, 2));
    curve.add({1, 2, -0.1});
    curve.add({4, 2, 0.3});  // the other way around
    const auto gain = curve.gain(1, 4);
    ASSERT_TRUE(gain);
    EXPECT_NEAR(gain->log_gain, std::log(4.0) - 0.4, 1e-12);
    EXPECT_EQ(gain->observations, 0);
    EXPECT_EQ(curve.gain(2, 4)->observations, 1);
    EXPECT_GT(gain->error, curve.gain(1, 2)->error);
    EXPECT_NEAR(curve.gain(4, 1)->log_gain, -gain->log_gain, 1e-12);
    EXPECT_FALSE(curve.gain(1, 8));
    curve.add({8, 9, 0});
    EXPECT_FALSE(curve.gain(1, 8)) << "not connected";
}

TEST(ThroughputCurve, OneOutlierDoesNotMoveIt) {
    ThroughputCurve curve;
    for (const double value : {-0.1, -0.1, 5.0, -0.1, -0.1}) curve.add({1, 2, value});
    EXPECT_NEAR(curve.gain(1, 2)->log_gain, std::log(2.0) - 0.1, 1e-12);
    EXPECT_GT(curve.gain(1, 2)->error, 0.5) << "but makes it less certain";
}

TEST(ThroughputCurve, StepsThatDifferMakeItLessCertain) {
    ThroughputCurve curve;
    curve.add({1, 2, -0.1, 1, 0.09});
    EXPECT_NEAR(curve.gain(1, 2)->error, 0.3, 1e-9);
}

TEST(ThroughputMeter, TheVarianceOfAChangeFollowsFromTheDifferencesBetweenSteps) {
    const auto change = [](double jitter) {
        ThroughputMeter meter;
        double now = 0;
        std::int64_t one = 0, two = 0;
        const auto pass = [&](std::int64_t at) { return Seconds(now += at % 2 == 0 ? 1 + jitter : 1 - jitter); };
        meter.run({{1, 0}});
        const auto step = [&] {
            ++one;
            return meter.reported(1, one, pass(one));
        };
        for (int i = 0; i < 5; ++i) (void)step();
        meter.run({{1, 0}, {2, 1}});
        for (;;) {
            (void)meter.reported(2, ++two, Seconds(now));
            if (const auto changes = step(); !changes.empty()) return changes.workers.at(0);
        }
    };
    EXPECT_NEAR(change(0).variance, 0, 1e-9);
    EXPECT_GT(change(0.5).variance, 0.05);
}

TEST(ThroughputCurve, IgnoresWhatIsNoChange) {
    ThroughputCurve curve;
    curve.add({1, 1, 0.1});
    curve.add({0, 2, 0.1});
    curve.add({1, 2, std::nan("")});
    EXPECT_TRUE(curve.numbers().empty());
}

TEST(ThroughputMeter, TheStartOfATrialIsNotPartOfAWindow) {
    ThroughputMeter meter;
    meter.run({{1, 0}});
    for (int step = 1; step <= 5; ++step) EXPECT_TRUE(meter.reported(1, step, Seconds(step)).empty());
    EXPECT_TRUE(meter.measured());
    meter.run({{1, 0}, {2, 1}});
    EXPECT_FALSE(meter.measured());
    EXPECT_TRUE(meter.reported(1, 6, Seconds(15)).empty()) << "the other one is starting";
    EXPECT_TRUE(meter.reported(2, 1, Seconds(16)).empty());
    double now = 16;
    for (int step = 7; step <= 10; ++step) {
        EXPECT_TRUE(meter.reported(1, step, Seconds(now += 1)).empty());
        EXPECT_TRUE(meter.reported(2, step - 5, Seconds(now += 1)).empty());
    }
    const MeteredChanges changes = meter.reported(1, 11, Seconds(now += 1));
    ASSERT_EQ(changes.workers.size(), 1U);
    EXPECT_EQ(changes.workers[0].fewer, 1);
    EXPECT_EQ(changes.workers[0].more, 2);
    EXPECT_NEAR(changes.workers[0].log_ratio, std::log(0.5), 1e-9);
    EXPECT_TRUE(changes.fused.empty());
    EXPECT_TRUE(meter.reported(1, 12, Seconds(now += 2)).empty()) << "each change is returned once";
}

/// Returns the measured change of trial 1 when trial 2 starts beside it and both slow down to half; trial 1 reports at
/// the times that `reports` returns for a step.
template <typename Reports>
double change_of(const Reports& report_first) {
    ThroughputMeter meter;
    meter.run({{1, 0}});
    double now = 0;
    for (int step = 1; step <= 20; ++step) report_first(meter, step, now += 1);
    meter.run({{1, 0}, {2, 1}});
    for (int step = 1; step <= 20; ++step) {
        (void)meter.reported(2, step, Seconds(now += 2));
        const MeteredChanges changes = report_first(meter, 20 + step, now);
        if (!changes.workers.empty()) return changes.workers[0].log_ratio;
    }
    return std::nan("");
}

TEST(ThroughputMeter, AnIntervalDuringWhichTheMachineWasHeldUpDoesNotCount) {
    double delay = 0;
    EXPECT_NEAR(change_of([&](ThroughputMeter& meter, std::int64_t step, double now) {
                    if (step == 10 || step == 23) delay += 30;
                    return meter.reported(1, step, Seconds(now + delay));
                }),
                std::log(0.5), 1e-9);
}

TEST(ThroughputMeter, StepsThatAreReportedTogetherBelongToOneInterval) {
    EXPECT_NEAR(change_of([](ThroughputMeter& meter, std::int64_t step, double now) {
                    MeteredChanges changes;
                    for (int line = 9; line >= 0; --line) {
                        MeteredChanges more = meter.reported(1, 10 * step - line, Seconds(now));
                        if (!more.workers.empty()) changes = more;
                    }
                    return changes;
                }),
                std::log(0.5), 1e-9);
}

TEST(ThroughputMeter, ATrialThatIsEndingDoesNotCountAsOneThatTrains) {
    ThroughputMeter meter;
    meter.run({{1, 0}});
    for (int step = 1; step <= 4; ++step) (void)meter.reported(1, step, Seconds(step));
    meter.run({{1, 0}, {2, 1}});
    double now = 5;
    (void)meter.reported(2, 1, Seconds(now));
    (void)meter.reported(1, 5, Seconds(now));
    for (int step = 2; step <= 3; ++step) (void)meter.reported(2, step, Seconds(now += 2));
    meter.ending(2);  // its process still exists, and the other one runs as if alone
    for (int step = 6; step <= 12; ++step) EXPECT_TRUE(meter.reported(1, step, Seconds(now += 1)).empty());
}

TEST(ThroughputMeter, AChangeOfBothNumbersIsIgnored) {
    ThroughputMeter meter;
    meter.run({{1, 0}});
    for (int step = 1; step <= 4; ++step) (void)meter.reported(1, step, Seconds(step));
    meter.run({{1, 0}, {2, 0}, {3, 1}});
    double now = 5;
    for (int step = 5; step <= 12; ++step)
        for (const std::int64_t trial : {1, 2, 3}) EXPECT_TRUE(meter.reported(trial, step, Seconds(now += 1)).empty());
}

}  // namespace
}  // namespace hpo
