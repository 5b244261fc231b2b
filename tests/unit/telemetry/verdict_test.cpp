#include "orchestrator/telemetry/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/telemetry/rates.hpp"
#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Six equal samples of these values.
TelemetrySummary steady(const TelemetrySample& sample) {
    TelemetryCollector collector;
    for (int i = 0; i < 6; ++i) collector.add(sample);
    return collector.summarise();
}

Measurement host(Quantity quantity, double value) { return measurement("host", quantity, value); }
Measurement gpu(Quantity quantity, double value) { return measurement("gpu 0", quantity, value); }

TEST(Verdict, TooFewSamplesAllowNone) {
    TelemetryCollector collector;
    collector.add({gpu(Quantity::utilization, 5)});
    EXPECT_THAT(verdict(collector.summarise(), {}), ElementsAre(Mentions("too few", "(1")));
    EXPECT_THAT(verdict({}, {}), ElementsAre(HasSubstr("too few")));
}

TEST(Verdict, AnIdleGpuBesideOneBusyCoreWaitsForThatCore) {
    const auto said = verdict(steady({gpu(Quantity::utilization, 12), host(Quantity::utilization, 13),
                                      measurement("program", Quantity::cores, 1.0)}),
                              {.cores = 8});
    EXPECT_THAT(said,
                ElementsAre(AllOf(Mentions("GPU 0", "busy", "12 %"), HasSubstr("one CPU core"), HasSubstr("larger"))));
}

TEST(Verdict, AnIdleGpuBesideABusyCpuWaitsForData) {
    EXPECT_THAT(verdict(steady({gpu(Quantity::utilization, 30), host(Quantity::utilization, 98)}), {.cores = 8}),
                ElementsAre(Mentions("waits", "CPU", "98 %")));
    EXPECT_THAT(verdict(steady({gpu(Quantity::utilization, 30), host(Quantity::utilization, 20),
                                host(Quantity::io_pressure, 55)}),
                        {.cores = 8}),
                ElementsAre(Mentions("I/O", "55 %")));
}

TEST(Verdict, UtilizationOfZeroIsContradictedByPowerThatRose) {
    TelemetryCollector collector;
    for (const double watts : {60.0, 60.0, 180.0, 190.0, 188.0, 185.0})
        collector.add({gpu(Quantity::utilization, 0), gpu(Quantity::power, watts)});
    EXPECT_THAT(
        verdict(collector.summarise(), {}),
        ElementsAre(AllOf(Mentions("of 0 %", "contradicted"), HasSubstr("from 60 W to 190 W"), HasSubstr("latter"))));
}

TEST(Verdict, UtilizationOfZeroIsContradictedByARateOfTraining) {
    EXPECT_THAT(verdict(steady({gpu(Quantity::utilization, 0), measurement("study a", Quantity::speed, 120)}), {}),
                ElementsAre(AllOf(Mentions("0 %", "study a", "120 it/s"), HasSubstr("training"))));
}

TEST(Verdict, UtilizationOfZeroWithoutAnyOtherSignOfWorkIsBelieved) {
    EXPECT_THAT(verdict(steady({gpu(Quantity::utilization, 0), gpu(Quantity::power, 60)}), {}),
                ElementsAre(HasSubstr("nothing")));
}

TEST(Verdict, ABusyGpuAtLowPowerRunsSmallKernels) {
    const auto samples = steady({gpu(Quantity::utilization, 99), gpu(Quantity::power, 200)});
    EXPECT_THAT(verdict(samples, {.power_limits = {{"gpu 0", 700}}}),
                ElementsAre(AllOf(HasSubstr("200 W of 700 W"), HasSubstr("fill"))));
    EXPECT_THAT(verdict(samples, {.power_limits = {{"gpu 0", 220}}}), ElementsAre(HasSubstr("fully")));
    EXPECT_THAT(verdict(samples, {}), ElementsAre(Not(HasSubstr("small"))));
}

TEST(Verdict, ImpossibleReadingsAreNamedWithTheirNumberAndValue) {
    TelemetryCollector collector;
    for (int i = 0; i < 6; ++i)
        collector.add({measurement("gpu 0", Quantity::power, i == 2 ? 590 : 100, 210), gpu(Quantity::utilization, 70)});
    auto summary = collector.summarise();
    EXPECT_THAT(verdict(summary, {}).front(), Mentions("1 of 6 readings", "(590 W)"));
    for (auto& [channel, figures] : summary) figures.worst = 0;
    EXPECT_THAT(verdict(summary, {}).front(), Mentions("1 of 6 readings", "left"))
        << "stored telemetry has no value of theirs";
}

TEST(Verdict, MoreThreadsThanCoresAreTold) {
    EXPECT_THAT(verdict(steady({host(Quantity::utilization, 99), host(Quantity::cpu_pressure, 80)}), {.cores = 2}),
                ElementsAre(HasSubstr("threads")));
    EXPECT_THAT(verdict(steady({host(Quantity::utilization, 99), host(Quantity::cpu_pressure, 10)}), {.cores = 2}),
                ElementsAre(Mentions("CPU", "fully")));
}

TEST(Verdict, ThatOtherProgramsKeepTheCpuBusyIsNoAdviceToUseFewerThreads) {
    for (const char* source : {"trials", "program"})
        EXPECT_THAT(
            verdict(steady({host(Quantity::utilization, 99), host(Quantity::cpu_pressure, 80),
                            measurement(source, Quantity::cores, 0.1)}),
                    {.cores = 2}),
            ElementsAre(AllOf(HasSubstr("programs"), HasSubstr(" used 0.1 of 2 cores"), Not(HasSubstr("threads")))));
    EXPECT_THAT(verdict(steady({host(Quantity::utilization, 99), host(Quantity::cpu_pressure, 80),
                                measurement("trials", Quantity::cores, 1.9)}),
                        {.cores = 2}),
                ElementsAre(HasSubstr("fewer")));
}

TEST(Verdict, OtherProgramsThatTakeManyOfTheCoresAreNamedBeforeTheTrialsOwnThreads) {
    const auto advice = verdict(steady({host(Quantity::utilization, 99), host(Quantity::cpu_pressure, 80),
                                        measurement("trials", Quantity::cores, 1.2)}),
                                {.cores = 2});
    EXPECT_THAT(advice, ElementsAre(AllOf(Mentions("1.2 of 2 cores", "others 0.8"), Not(HasSubstr("threads")))));
}

TEST(Verdict, ThreadsThatWaitBesideNativeTrialsAreThoseOfOtherPrograms) {
    const auto advice = verdict(steady({host(Quantity::utilization, 99), host(Quantity::cpu_pressure, 80)}),
                                {.cores = 2, .within_cores = true});
    EXPECT_THAT(advice, ElementsAre(AllOf(HasSubstr("programs"), Not(HasSubstr("fewer")))));
}

TEST(Verdict, WaitingForTheDiskIsNotBlamedOnTheTrialsSinceHpoStoresResultsThere) {
    const auto said = verdict(steady({host(Quantity::utilization, 62), host(Quantity::io_pressure, 27)}), {.cores = 2});
    EXPECT_THAT(said,
                ElementsAre(AllOf(Mentions("I/O", "27 %", "included"), HasSubstr("wait"), Not(HasSubstr("limit")))));
}

TEST(Verdict, SaysOfIoOnlyWhatWasMeasured) {
    EXPECT_THAT(verdict(steady({host(Quantity::utilization, 20), host(Quantity::io_pressure, 3)}), {.cores = 2}),
                ElementsAre(Mentions("hardly", "sleeps")));
    EXPECT_THAT(verdict(steady({host(Quantity::utilization, 20)}), {.cores = 2}),
                ElementsAre(AllOf(Mentions("busy 20 %", "sleeps"), Not(HasSubstr("I/O")))));
}

TEST(Verdict, AWellUsedCpuIsNoRoomForMoreTrials) {
    EXPECT_THAT(verdict(steady({host(Quantity::utilization, 85)}), {.cores = 2}),
                ElementsAre("Nothing that was measured is at its limit: the CPU is busy 85 % of the time."));
}

TEST(Verdict, AProgramOnOneOfManyCoresCouldRunSeveralTimes) {
    EXPECT_THAT(
        verdict(steady({host(Quantity::utilization, 13), measurement("program", Quantity::cores, 1.0)}), {.cores = 8}),
        ElementsAre(Mentions("of 8")));
}

TEST(Verdict, ThrottlingAndShortMemoryAreTold) {
    EXPECT_THAT(verdict(steady({gpu(Quantity::utilization, 80), gpu(Quantity::throttled, 100)}), {}),
                ElementsAre(Mentions("clock", "100 %")));
    EXPECT_THAT(verdict(steady({host(Quantity::utilization, 70), host(Quantity::memory_pressure, 12)}), {}),
                ElementsAre(HasSubstr("memory")));
    EXPECT_THAT(verdict(steady({host(Quantity::utilization, 70), host(Quantity::throttled, 40)}), {}),
                ElementsAre(Mentions("quota", "40 %")));
}

}  // namespace
}  // namespace hpo
