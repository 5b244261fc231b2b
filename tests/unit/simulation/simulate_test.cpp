#include "orchestrator/simulation/simulate.hpp"

#include <gtest/gtest.h>

#include "orchestrator/simulation/drawn.hpp"
#include "orchestrator/simulation/predict.hpp"

namespace hpo {
namespace {

Study study_of(std::int64_t trials, std::int64_t epochs) {
    Study study;
    study.name = "simulated";
    study.objective = {"loss", Direction::minimize, Objective::At::best};
    study.space = {Dimension{.name = "x"}, Dimension{.name = "y"}};
    study.worker = ScriptWorker{.command = {"script"}};
    study.budget.trials = trials;
    study.budget.epochs = epochs;
    study.sampler.type = "random";
    study.policy.scaled = false;
    return study;
}

SimulatedMachine cores(int count) {
    SimulatedMachine machine;
    machine.machine = {.hosts = {{.cores = double(count), .memory = std::int64_t{1} << 40}}};
    machine.workers = count;
    machine.speed = {1};
    return machine;
}

SimulatedMachine devices(int count, std::int64_t memory, int workers, std::vector<double> throughput) {
    SimulatedMachine machine = cores(workers);
    machine.machine.hosts[0].cores = 1000;
    for (int i = 0; i < count; ++i)
        machine.machine.accelerators.push_back({.id = "gpu " + std::to_string(i), .memory = memory});
    machine.speed.assign(std::size_t(count), 1);
    machine.throughput.assign(std::size_t(count), throughput);
    return machine;
}

SimulatedEnd run(const Study& study, const SimulatedMachine& machine, const DrawnTrials& trials) {
    const auto end = simulate(study, {}, machine, DrawnWorkload(study, trials, 0));
    EXPECT_TRUE(end) << end.error().message;
    return end ? *end : SimulatedEnd{};
}

TEST(Simulation, TakesTheSumOfStartsStepsAndEndsOnEachCore) {
    const DrawnTrials trials{.step = {2, 2}, .start = {1, 1}, .end = {0.5, 0.5}};
    const SimulatedEnd end = run(study_of(4, 3), cores(2), trials);
    EXPECT_NEAR(end.seconds, 2 * (1 + 3 * 2 + 0.5), 1e-9);
    EXPECT_EQ(end.complete, 4);
    EXPECT_EQ(end.steps, 12);
    EXPECT_EQ(end.most_at_once, 2);
    EXPECT_NEAR(end.busy, 6.0 / 7.5, 1e-9);
}

TEST(Simulation, FindsTheBestTrialAlthoughEndedOnesAreForgotten) {
    const Study study = study_of(50, 2);
    const DrawnTrials trials{.step = {1, 1}, .first = {1, 1}, .last = {0.1, 0.5}};
    const DrawnWorkload workload(study, trials, 0);
    double best = 1;
    for (std::int64_t number = 1; number <= 50; ++number) {
        TrialRecord trial;
        trial.number = number;
        best = std::min(best, workload.metrics(trial, 2).at("loss"));
    }
    const SimulatedEnd end = run(study, cores(4), trials);
    ASSERT_TRUE(end.has_best);
    EXPECT_DOUBLE_EQ(end.best, best);
}

TEST(Simulation, IncludesTheStartAndTheEndOfWorkers) {
    SimulatedMachine machine = cores(1);
    machine.launch = 3;
    machine.exit = 2;
    EXPECT_NEAR(run(study_of(1, 1), machine, {.step = {1, 1}}).seconds, 3 + 1 + 2, 1e-9);
}

TEST(Simulation, FasterCoresTakeLessTime) {
    SimulatedMachine machine = cores(1);
    machine.speed = {4};
    EXPECT_NEAR(run(study_of(1, 10), machine, {.step = {2, 2}}).seconds, 5, 1e-9);
}

TEST(Simulation, TrialsOnOneDeviceShareItsThroughput) {
    const DrawnTrials trials{.step = {1, 1}, .device_bytes = {1e9, 1e9}};
    EXPECT_NEAR(run(study_of(2, 10), devices(1, 8e9, 1, {1, 1.5}), trials).seconds, 20, 1e-9);
    // Two at once, each at three quarters of its speed alone.
    EXPECT_NEAR(run(study_of(2, 10), devices(1, 8e9, 2, {1, 1.5}), trials).seconds, 10 / 0.75, 1e-9);
}

TEST(Simulation, ATrialThatIsAloneAgainTrainsAtItsFullSpeed) {
    Study study = study_of(2, 1);
    const DrawnTrials trials{.step = {1, 8}, .device_bytes = {1, 1}};
    const DrawnWorkload workload(study, trials, 0);
    TrialRecord one, two;
    one.number = 1, two.number = 2;
    const double a = workload.step_seconds(one, 1), b = workload.step_seconds(two, 1);
    // Both share the device until the shorter one has ended; total work is constant.
    EXPECT_NEAR(run(study, devices(1, 8e9, 2, {1}), trials).seconds, a + b, 1e-6);
}

TEST(Simulation, MemoryLimitsHowManyTrainAtOnce) {
    const DrawnTrials trials{.step = {1, 1}, .device_bytes = {4e9, 4e9}};
    EXPECT_EQ(run(study_of(16, 2), devices(2, 9'000'000'000, 16, {1, 2, 3, 4}), trials).most_at_once, 4);
}

TEST(Simulation, ATrialThatFitsNoDeviceFailsWithTheNumbers) {
    const Study study = study_of(8, 2);
    const DrawnTrials trials{.step = {1, 1}, .device_bytes = {4e10, 4e10}};
    const auto end = simulate(study, {}, devices(1, 8e9, 2, {1}), DrawnWorkload(study, trials, 0));
    ASSERT_FALSE(end);
    EXPECT_NE(end.error().message.find("device memory"), std::string::npos) << end.error().message;
}

TEST(Simulation, StopsTrialsByTheRulesOfTheStudy) {
    Study study = study_of(27, 9);
    const DrawnTrials trials{.step = {1, 1}, .first = {1, 1}, .last = {0.1, 0.5}};
    const double without = run(study, cores(3), trials).seconds;
    study.stopping = {{"asha", {{"grace", std::int64_t{1}}, {"factor", std::int64_t{3}}}}};
    const SimulatedEnd end = run(study, cores(3), trials);
    EXPECT_LT(end.seconds, 0.6 * without);
    EXPECT_GT(end.stopped, 15);
    EXPECT_GE(end.complete, 1);
}

TEST(Simulation, OfScriptsThatEndByThemselvesHasTheStepsOfTheLongestMeasuredTrial) {
    Study study = study_of(4, Budget::most_epochs);
    study.budget.open = true;
    RecordedRun run;
    for (const std::int64_t steps : {5, 3}) run.trials.push_back({.curve = {{.step = 1}, {.step = steps}}});
    const auto workload = [&](std::uint64_t) -> std::unique_ptr<Workload> {
        return std::make_unique<DrawnWorkload>(study, DrawnTrials{.step = {1, 1}}, 0);
    };
    const auto prediction = predict(study, {}, hardware_of(study, run), run, workload, {.simulations = 1});
    ASSERT_TRUE(prediction) << prediction.error().message;
    EXPECT_EQ(prediction->steps.middle, 4 * 5);
    EXPECT_EQ(prediction->complete.middle, 4);

    const auto unknown = predict(study, {}, hardware_of(study, {}), {}, workload, {.simulations = 1});
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().message.find("budget.epochs"), std::string::npos) << unknown.error().message;
}

TEST(Simulation, EndsWithTheTimeBudget) {
    Study study = study_of(1000, 10);
    study.budget.seconds = 100;
    const SimulatedEnd end = run(study, cores(2), {.step = {3, 3}});
    EXPECT_NEAR(end.seconds, 100, 1e-9);
    EXPECT_EQ(end.reason, "the time budget is used up");
}

/// A simulated study whose costs are measured from its events, and simulated again from these measurements.
class Recorded : public ::testing::Test {
   protected:
    RecordedRun record(const Study& study, const SimulatedMachine& machine, const Workload& workload) {
        RecordReader reader(study);
        auto end = simulate(study, {}, machine, workload, [&](const StoredEvent& event) { reader.add(event); });
        EXPECT_TRUE(end) << end.error().message;
        seconds = end->seconds;
        complete = end->complete;
        return reader.finish();
    }
    double seconds = 0;
    std::int64_t complete = 0;
};

TEST_F(Recorded, AStudySimulatedFromItsOwnMeasurementsTakesWhatItTook) {
    Study study = study_of(40, 9);
    study.stopping = {{"asha", {{"grace", std::int64_t{1}}, {"factor", std::int64_t{3}}}}};
    SimulatedMachine machine = cores(2);
    machine.launch = 0.4;
    const DrawnWorkload workload(
        study, {.step = {0.5, 4}, .start = {0.2, 0.2}, .end = {0.1, 0.1}, .first = {1, 1}, .last = {0.1, 0.5}}, 0);
    const RecordedRun run = record(study, machine, workload);
    EXPECT_EQ(run.workers, 2);
    EXPECT_NEAR(run.launch, 0.4, 1e-9);
    EXPECT_NEAR(run.start, 0.2, 1e-6);
    EXPECT_NEAR(run.end, 0.1, 1e-6);
    EXPECT_NEAR(run.seconds, seconds, 1e-6);
    const StepLaw law(study.space, run);
    const auto again = simulate(study, {}, *simulated_machine(study, hardware_of(study, run), run, 0.5),
                                RecordedWorkload(study, run, law, 0));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_NEAR(again->seconds, seconds, 0.02 * seconds);
    EXPECT_EQ(again->complete, complete);
}

/// Steps whose seconds follow from the configuration.
class LawfulWorkload final : public Workload {
   public:
    TrialCost cost(const TrialRecord&) const override { return {}; }
    double step_seconds(const TrialRecord& trial, std::int64_t) const override {
        return std::exp(2 * number_or(trial.params.at("x"), 0) - number_or(trial.params.at("y"), 0));
    }
    Metrics metrics(const TrialRecord& trial, std::int64_t) const override {
        return {{"loss", number_or(trial.params.at("x"), 0)}};
    }
};

/// Trials whose steps take a second, of which their workers do not count a quarter.
class UncountedTime final : public Workload {
   public:
    explicit UncountedTime(const Study& study)
        : drawn_(study, {.step = {1, 1}, .start = {0, 0}, .end = {0, 0}, .first = {1, 1}, .last = {0.1, 0.5}}, 0) {}
    TrialCost cost(const TrialRecord& trial) const override {
        TrialCost cost = drawn_.cost(trial);
        cost.between = 0.25;
        return cost;
    }
    double step_seconds(const TrialRecord&, std::int64_t) const override { return 0.75; }
    Metrics metrics(const TrialRecord& trial, std::int64_t step) const override { return drawn_.metrics(trial, step); }

   private:
    DrawnWorkload drawn_;
};

TEST_F(Recorded, WhatWorkersDoNotCountBetweenStepsCounts) {
    const Study study = study_of(4, 9);
    const RecordedRun run = record(study, cores(1), UncountedTime(study));
    EXPECT_NEAR(seconds, 4 * (9 * 0.75 + 8 * 0.25), 1e-6);
    EXPECT_NEAR(run.between, 0.25 / 0.75, 1e-6);
    const StepLaw law(study.space, run);
    const auto again = simulate(study, {}, *simulated_machine(study, hardware_of(study, run), run, 0.5),
                                RecordedWorkload(study, run, law, 0));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_NEAR(again->seconds, seconds, 1e-6);
}

TEST_F(Recorded, TheLawOfStepsPredictsTrialsThatWereNotMeasured) {
    Study study = study_of(30, 2);
    const RecordedRun run = record(study, cores(2), LawfulWorkload());
    const StepLaw law(study.space, run);
    EXPECT_GT(law.explained(), 0.98);
    study.seed = 99;  // other configurations
    study.budget.trials = 200;
    const auto truth = simulate(study, {}, cores(4), LawfulWorkload());
    const auto predicted = simulate(study, {}, cores(4), RecordedWorkload(study, run, law, 1));
    ASSERT_TRUE(truth && predicted);
    EXPECT_NEAR(predicted->seconds, truth->seconds, 0.05 * truth->seconds);
}

TEST(Continued, FollowsTheLongerCurveThatWasNearest) {
    const std::vector<double> mine{0.1, 0.5}, near{0.2, 0.52, 0.6, 0.7}, far{0.2, 0.9, 0.95, 0.99},
        brief{0.1, 0.5, 0.9};
    EXPECT_DOUBLE_EQ(continued(mine, {&near, &far, &brief}, 3), 0.5 + (0.7 - 0.52));
    EXPECT_DOUBLE_EQ(continued(mine, {&near, &far}, 1), 0.5);
    EXPECT_DOUBLE_EQ(continued(mine, {}, 3), 0.5);
}

TEST(Prediction, CostsWhatItsHoursCost) {
    const Study study = study_of(10, 1);
    Hardware hardware{.cores = 1, .cores_given = true, .price = 2};
    const auto prediction =
        predict(study, {}, hardware, {},
                [&](std::uint64_t draw) {
                    return std::make_unique<DrawnWorkload>(study, DrawnTrials{.step = {360, 360}}, draw);
                },
                {.simulations = 3});
    ASSERT_TRUE(prediction) << prediction.error().message;
    EXPECT_NEAR(prediction->seconds.middle, 3600, 1e-6);
    ASSERT_TRUE(prediction->cost);
    EXPECT_NEAR(prediction->cost->middle, 2, 1e-6);
}

TEST(Prediction, CoversTheRangeOfASpeedThatIsNotKnownExactly) {
    const Study study = study_of(4, 1);
    const Hardware hardware{.cores = 1, .cores_given = true, .speed = Span{1, 16}};
    const auto prediction =
        predict(study, {}, hardware, {},
                [&](std::uint64_t draw) {
                    return std::make_unique<DrawnWorkload>(study, DrawnTrials{.step = {4, 4}}, draw);
                },
                {.simulations = 16});
    ASSERT_TRUE(prediction) << prediction.error().message;
    EXPECT_LT(prediction->seconds.low, 1.5);
    EXPECT_GT(prediction->seconds.high, 10);
}

}  // namespace
}  // namespace hpo
