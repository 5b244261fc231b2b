#include "orchestrator/view/calibration.hpp"
#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpo::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DeviceCalibration calibration(const std::string& name, double factor) {
    DeviceCalibration device;
    device.device = device.name = name;
    device.memory_rate = 1e10 * factor;
    device.launch = MeasuredTime{2.5e-6, 1e-6, 5e-6};
    for (const std::int64_t size : {256, 1024}) {
        const auto n = static_cast<double>(size);
        // The factor tells at the larger size alone.
        const double rate = size == 256 ? 5e10 : 1e11 * factor;
        const double flops = 2 * n * n * n, seconds = flops / rate;
        device.products.push_back(
            {"float32", size, size, size, 1, flops, 12 * n * n, MeasuredTime{seconds, seconds, seconds}, {}});
    }
    return device;
}

TEST(CalibrationView, ShowsEachDeviceEachProductAndWhereOneOvertakes) {
    const DeviceCalibration devices[] = {calibration("cpu", 1), calibration("cuda 0", 30)};
    const std::string text = draw_calibrations(devices, {.width = 100});
    EXPECT_THAT(text, HasSubstr("2.5 us"));
    EXPECT_THAT(text, HasSubstr("1024 x 1024 x 1024   100 GFLOP/s    3.00 TFLOP/s"));
    EXPECT_THAT(text, Mentions("cuda 0", "faster than", "1024 on", "float32 (30 times", "30 times", "at 1024"));
    EXPECT_THAT(text, Not(HasSubstr("out")));
}

TEST(CalibrationView, AProductThatWasLeftOutIsADashWithALineThatSaysSo) {
    DeviceCalibration device = calibration("cpu", 1);
    device.products[1].time.reset();
    const std::string text = draw_calibrations(std::span(&device, 1), {.width = 100});
    EXPECT_THAT(text, Mentions("-:", "out"));
}

}  // namespace
}  // namespace hpo::view
