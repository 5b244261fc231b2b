#include "orchestrator/view/calibration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpo::view {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
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
    EXPECT_THAT(text, HasSubstr("cuda 0 multiplies squares faster than one worker on the cpu from 1024 on in float32 "
                                "(30 times as fast there, 30 times at 1024)"));
    EXPECT_THAT(text, Not(HasSubstr("left out")));
}

TEST(CalibrationView, AProductThatWasLeftOutIsADashWithALineThatSaysSo) {
    DeviceCalibration device = calibration("cpu", 1);
    device.products[1].time.reset();
    const std::string text = draw_calibrations(std::span(&device, 1), {.width = 100});
    EXPECT_THAT(text, HasSubstr("-: left out"));
}

TEST(CalibrationView, TheRooflinePutsTheFastestProductOnItsRoof) {
    const std::string text = draw_roofline(calibration("cpu", 1), "float32", {.width = 60});
    EXPECT_THAT(text, HasSubstr("ridge at 10.0 flops a byte"));
    const std::string roof = text.substr(text.find('\n') + 1);
    EXPECT_THAT(roof.substr(0, roof.find('\n')), HasSubstr("o"));
    EXPECT_THAT(draw_roofline({}, "float32", {}), IsEmpty());
    DeviceCalibration no_bandwidth = calibration("cpu", 1);
    no_bandwidth.memory_rate = 0;
    EXPECT_THAT(draw_roofline(no_bandwidth, "float32", {}), IsEmpty());
}

}  // namespace
}  // namespace hpo::view
