#include "orchestrator/calibration/backend_choice.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hpo {
namespace {

MeasuredProduct cube(std::int64_t size, double rate, std::int64_t replicas = 1) {
    const auto n = static_cast<double>(size);
    MeasuredProduct product{"float32", size, size, size, replicas, 2 * n * n * n * static_cast<double>(replicas),
                            1,         {},   {}};
    const double seconds = product.flops / rate;
    product.time = MeasuredTime{seconds, seconds, seconds};
    return product;
}

/// Returns a CPU whose rate does not depend on the size.
DeviceCalibration some_cpu() {
    DeviceCalibration device;
    device.products = {cube(64, 5e10), cube(4096, 5e10)};
    device.launch = MeasuredTime{1e-7, 1e-7, 1e-7};
    return device;
}

/// Returns a GPU that is fast at large products and takes 20 us to start anything.
DeviceCalibration some_gpu() {
    DeviceCalibration device;
    device.products = {cube(64, 1e10), cube(4096, 2e13)};
    device.launch = MeasuredTime{2e-5, 2e-5, 2e-5};
    return device;
}

/// Returns the work of trials with this batch size and width: 100 updates of 3 layers.
std::vector<StepWork> work_of(double batch, double width) {
    return {{.flops = 100 * 9 * 2 * batch * width * width,
             .updates = 100,
             .parameters = 3 * width * width,
             .rows = batch,
             .layers = 3}};
}

TEST(BackendChoice, SmallProductsPreferTheCpuAndLargeOnesTheGpu) {
    const auto small = compare_backends(some_cpu(), 4, some_gpu(), 1, work_of(32, 64));
    ASSERT_TRUE(small);
    EXPECT_TRUE(small->prefers_cpu()) << small->text();
    const auto large = compare_backends(some_cpu(), 4, some_gpu(), 1, work_of(4096, 2048));
    ASSERT_TRUE(large);
    EXPECT_FALSE(large->prefers_cpu()) << large->text();
    EXPECT_GT(large->gpu, 10 * large->cpu);
}

TEST(BackendChoice, FusedTrialsCountForTheGpu) {
    DeviceCalibration gpu = some_gpu();
    const auto alone = compare_backends(some_cpu(), 4, gpu, 32, work_of(32, 64));
    gpu.products.push_back(cube(64, 2e11, 32));
    const auto fused = compare_backends(some_cpu(), 4, gpu, 32, work_of(32, 64));
    EXPECT_NEAR(fused->gpu / alone->gpu, 20, 1e-6);
    EXPECT_NEAR(compare_backends(some_cpu(), 4, gpu, 8, work_of(32, 64))->gpu, alone->gpu, 1e-9)
        << "32 models are not measured for 8";
}

TEST(BackendChoice, ACloseRaceIsLeftToTheGpu) {
    BackendChoice choice{1.4, 1.0};
    EXPECT_FALSE(choice.prefers_cpu());
    choice.cpu = 1.6;
    EXPECT_TRUE(choice.prefers_cpu());
    EXPECT_EQ(choice.text(), "predicted 1.600 steps per second on the CPU, 1.000 on the GPU (hpo bench devices)");
}

TEST(BackendChoice, NothingIsChosenWithoutMeasurements) {
    EXPECT_FALSE(compare_backends(some_cpu(), 4, {}, 32, work_of(32, 64)));
    EXPECT_FALSE(compare_backends({}, 4, some_gpu(), 32, work_of(32, 64)));
    EXPECT_FALSE(compare_backends(some_cpu(), 4, some_gpu(), 32, {}));
    std::vector<StepWork> work = work_of(32, 64);
    work[0].precision = "bfloat16";
    EXPECT_FALSE(compare_backends(some_cpu(), 4, some_gpu(), 32, work)) << "a precision that was not measured";
}

}  // namespace
}  // namespace hpo
