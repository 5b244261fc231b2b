#include "orchestrator/calibration/step_correction.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hpo {
namespace {

TEST(StepCorrection, IsTheMedianRatioOfTheTrialsBefore) {
    const std::vector<PredictedAndMeasured> trials{{1, 2}, {2, 4}, {1, 50}, {3, 5.9}, {0.5, 1.02}};
    const StepCorrection correction = step_correction(trials);
    EXPECT_NEAR(correction.factor, 2, 0.05) << "one trial that was held up does not move it";
    EXPECT_EQ(correction.trials, 5);
}

TEST(StepCorrection, FollowsAMachineThatChanges) {
    std::vector<PredictedAndMeasured> trials(20, {1, 2});
    trials.insert(trials.end(), 20, {1, 3});
    EXPECT_NEAR(step_correction(trials).factor, 3, 1e-9);
}

TEST(StepCorrection, WithoutMeasurementsAPredictionStaysAsItIs) {
    EXPECT_EQ(step_correction({}).factor, 1);
    const std::vector<PredictedAndMeasured> none{{0, 1}, {1, 0}, {std::nan(""), 1}, {1, INFINITY}};
    EXPECT_EQ(step_correction(none).factor, 1);
    EXPECT_EQ(step_correction(none).trials, 0);
}

TEST(StepCorrections, KeepDevicesAndKindsApart) {
    StepCorrections corrections;
    corrections.add("cpu", "mlp", {1, 2});
    corrections.add("cuda 0", "mlp", {1, 5});
    EXPECT_NEAR(corrections.of("cpu", "mlp").factor, 2, 1e-9);
    EXPECT_NEAR(corrections.of("cuda 0", "mlp").factor, 5, 1e-9);
    EXPECT_EQ(corrections.of("cpu", "cnn").trials, 0);
}

}  // namespace
}  // namespace hpo
