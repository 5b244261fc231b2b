// The predicted time of a trial's step, stored with its launch, and corrected by the measured times of earlier trials.
#include "tests/unit/engine/played.hpp"

namespace hpo {
namespace {

using hpo::testing::Played;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A device that multiplies 1e9 operations per second, for all shapes.
DeviceCalibration with_a_gigaflop(const std::string& identity) {
    DeviceCalibration device;
    device.device = "cpu";
    device.identity = identity;
    for (const std::int64_t size : {16, 1024}) {
        const auto flops = 2 * std::pow(static_cast<double>(size), 3);
        device.products.push_back({"float32", size, size, size, 1, flops, flops, MeasuredTime{flops / 1e9, 0, 0}, {}});
    }
    return device;
}

class StepForecastTest : public hpo::testing::OneStore {
   protected:
    StepForecastTest() {
        study.worker = NativeWorker{};
        study.budget.trials = 4;
    }
    Played session(const std::string& identity = "same") {
        return {study,
                store,
                1,
                {.hosts = {{.cores = 1, .memory = 1 << 30}}},
                {.calibrations = {{host_only, with_a_gigaflop(identity)}}}};
    }
    /// Answers the question for the needs of the next trial, a second on the device, and begins it.
    AttemptId begin(Played& play) {
        const auto question = play.executor.take<to_worker::Plan>(0);
        if (!question) return {};
        play.say(0, from_worker::PlanAnswer{.id = question->id,
                                            .footprint = {0, 1 << 20, 1},
                                            .parameters = 1,
                                            .iterations_per_step = 1,
                                            .flops_per_step = 1e9});
        return play.asked(0);
    }
    /// Takes two steps of `seconds` each.
    void train(Played& play, AttemptId id, double seconds) {
        for (const std::int64_t step : {1, 2}) {
            const double all = seconds * static_cast<double>(step);
            play.say(0, from_worker::Reported{id, {.step = step, .metrics = {{"loss", 0.5}}, .seconds = all}});
            (void)play.executor.take<to_worker::Decision>(0);
        }
        play.finish(0, id);
    }
};

TEST_F(StepForecastTest, IsStoredAtTheLaunchAndCorrectedByTheTrialsBefore) {
    {
        Played play = session();
        play.ready(0, {"plan"}, 1, "same");
        const AttemptId first = begin(play);
        const StepForecast before = play.trial(1).allocation->forecast;
        EXPECT_EQ(before.device, "cpu");
        EXPECT_NEAR(before.seconds(), 1, 1e-9);
        EXPECT_EQ(before.trials, 0);
        train(play, first, 3);
        EXPECT_NEAR(*measured_step(play.trial(1)), 3, 1e-9);
        train(play, begin(play), 5);
        EXPECT_NEAR(play.trial(2).allocation->forecast.seconds(), 3, 1e-9);
        EXPECT_EQ(play.trial(2).allocation->forecast.trials, 1);
        play.end_session(1);
    }
    Played again = session();
    again.ready(0, {"plan"}, 1, "same");
    (void)begin(again);
    EXPECT_EQ(again.trial(3).allocation->forecast.trials, 2) << "the next session knows them";
    EXPECT_NEAR(again.trial(3).allocation->forecast.uncorrected, 1, 1e-9);
    EXPECT_NEAR(again.trial(3).allocation->forecast.factor, std::sqrt(15.0), 1e-9);
}

TEST_F(StepForecastTest, MeasurementsOfAnotherDriverOrVersionAreRefusedInWords) {
    Played play = session("another driver");
    play.ready(0, {"plan"}, 1, "same");
    EXPECT_THAT(play.notices, HasSubstr("cpu"));
    (void)begin(play);
    EXPECT_THAT(play.trial(1).allocation->forecast.device, IsEmpty());
}

TEST(MeasuredStep, IsThatOfTheLastAttempt) {
    TrialRecord trial;
    EXPECT_FALSE(measured_step(trial));
    trial.curve = {{.step = 10, .seconds = 100}};
    EXPECT_EQ(measured_step(trial), 10);
    trial.allocation = Allocation{.forecast = {.done = 8, .trained = 96}};
    EXPECT_EQ(measured_step(trial), 2);
    trial.allocation = Allocation{.forecast = {.done = 10, .trained = 96}};
    EXPECT_FALSE(measured_step(trial)) << "it has taken no step yet";
}

}  // namespace
}  // namespace hpo
