#include "orchestrator/calibration/backend_choice.hpp"

#include <gtest/gtest.h>

namespace hpo {
namespace {

/// Returns a trial of ten steps, each of which takes `on_host` or `on_device` seconds, on an accelerator times the
/// number of trials there.
TrialToPlace trial_of(double on_host, double on_device) {
    return {.steps = 10,
            .fusion_key = {},
            .on_device = {},
            .step = [=](int device, const StepSharing& sharing) -> std::optional<double> {
                if (device == host_only) return on_host;
                return on_device * static_cast<double>(sharing.others + 1 - sharing.fused);
            }};
}

TrialToPlace small() { return trial_of(1, 2); }
TrialToPlace large() { return trial_of(100, 2); }

ComputeLoad idle(std::size_t cores, int devices = 1) {
    ComputeLoad load{std::vector<double>(cores, 0.0), {}};
    for (int i = 0; i < devices; ++i) load.devices.push_back({i, 1000, {}});
    return load;
}

TEST(BackendChoice, SmallTrialsTakeTheHostAndLargeOnesTheAccelerator) {
    ComputeLoad load = idle(2);
    EXPECT_EQ(choose_backend(load, small()).taken().device, host_only);
    const BackendChoice choice = choose_backend(load, large());
    EXPECT_EQ(choice.taken().device, 0);
    EXPECT_EQ(choice.host->ends, 1000);
    EXPECT_EQ(choice.device->ends, 20);
    EXPECT_EQ(choice.device->begins, 0);
}

TEST(BackendChoice, ATrialOnAnAcceleratorTakesACoreOfTheHost) {
    ComputeLoad load = idle(1);
    choose_backend(load, large());
    EXPECT_EQ(load.cores, std::vector<double>{20});
    const BackendChoice next = choose_backend(load, trial_of(1, 3));
    EXPECT_EQ(next.host->begins, 20);
    EXPECT_EQ(next.device->begins, 20);
    EXPECT_TRUE(next.takes_host());
}

TEST(BackendChoice, WhatRunsThereAlreadyCounts) {
    ComputeLoad load = idle(4);
    int on_host = 0;
    for (int trial = 0; trial < 4; ++trial) on_host += choose_backend(load, trial_of(5, 2)).takes_host() ? 1 : 0;
    EXPECT_EQ(on_host, 2) << "two share the accelerator in 40 s, and a third would take 60 s";
}

TEST(BackendChoice, ATrialJoinsOthersOfItsShapeWithoutACore) {
    ComputeLoad load = idle(1);
    TrialToPlace alike = large();
    alike.fusion_key = "shape";
    choose_backend(load, alike);
    const BackendChoice second = choose_backend(load, alike);
    EXPECT_EQ(second.device->begins, 0);
    EXPECT_EQ(second.device->step, 2) << "fused";
    EXPECT_EQ(load.cores, std::vector<double>{20}) << "one thread drives the device for both";
}

TEST(BackendChoice, ATrialWaitsForTheMemoryOfAnAccelerator) {
    ComputeLoad load = idle(4);
    TrialToPlace wide = large();
    wide.on_device = Footprint{600, 0, 1};
    choose_backend(load, wide);
    const BackendChoice second = choose_backend(load, wide);
    EXPECT_EQ(second.device->begins, 20);
}

TEST(BackendChoice, TheLeastUsedAcceleratorIsTaken) {
    ComputeLoad load = idle(4, 2);
    EXPECT_EQ(choose_backend(load, large()).taken().device, 0);
    EXPECT_EQ(choose_backend(load, large()).taken().device, 1);
}

TEST(BackendChoice, OnlyWhatIsPossibleAndPredictedIsChosen) {
    ComputeLoad load = idle(2);
    TrialToPlace trial = small();
    trial.may_use_host = false;
    EXPECT_EQ(choose_backend(load, trial).taken().device, 0);
    trial = large();
    trial.may_use_device = false;
    EXPECT_TRUE(choose_backend(load, trial).takes_host());
    trial = small();
    trial.step = [](int, const StepSharing&) { return std::optional<double>(); };
    const ComputeLoad before = load;
    const BackendChoice none = choose_backend(load, trial);
    EXPECT_FALSE(none.host || none.device);
    EXPECT_EQ(load.cores, before.cores);
    EXPECT_TRUE(choose_backend(load, large()).device);
    load.devices.clear();
    EXPECT_TRUE(choose_backend(load, large()).takes_host()) << "no accelerator is left";
}

}  // namespace
}  // namespace hpo
