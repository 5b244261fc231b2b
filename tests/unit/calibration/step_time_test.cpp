#include "orchestrator/calibration/step_time.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace hpo {
namespace {

MeasuredProduct product_at(double flops, double rate, const std::string& precision = "float32") {
    MeasuredProduct product{precision, 1, 1, 1, 1, flops, 1, {}, {}};
    const double seconds = flops / rate;
    product.time = MeasuredTime{seconds, seconds, seconds};
    return product;
}

/// Returns a device that computes everything at the same rate, with free memory and free launches.
DeviceCalibration plain_device(double rate) {
    DeviceCalibration device;
    device.products = {product_at(1e6, rate), product_at(1e9, rate)};
    return device;
}

/// Returns 10 updates of 3 layers: 90 products of 2 * 100 * 50 * 50 operations each.
StepWork small_work() { return {.flops = 90 * 5e5, .updates = 10, .parameters = 7500, .rows = 100, .layers = 3}; }

TEST(StepTime, ProductsTakeTheirOperationsOverTheMeasuredRate) {
    const auto time = predict_step(plain_device(1e9), small_work());
    ASSERT_TRUE(time);
    EXPECT_NEAR(time->products, 0.045, 1e-9);
    EXPECT_DOUBLE_EQ(time->seconds(), time->products);
    EXPECT_DOUBLE_EQ(small_work().width(), 50);
}

TEST(StepTime, TheRateIsInterpolatedByTheSizeOfTheProduct) {
    DeviceCalibration device;
    device.products = {product_at(1e6, 1e9), product_at(1e8, 1e11)};
    StepWork work = small_work();
    work.flops = 90 * 1e7;  // in the middle of both, by logarithm
    EXPECT_NEAR(predict_step(device, work)->products, work.flops / 1e10, 1e-6);
    work.flops = 90 * 1e12;
    EXPECT_NEAR(predict_step(device, work)->products, work.flops / 1e11, 1e-3) << "constant above the largest";
    work.flops = 90 * 1e3;
    EXPECT_NEAR(predict_step(device, work)->products, 90 * 1e-3, 1e-9) << "below the smallest its time stays";
}

TEST(StepTime, SmallProductsNeverTakeLongerThanLargerOnes) {
    DeviceCalibration device;  // a rate that rises faster than the size, by noise
    device.products = {product_at(1e6, 1e6), product_at(2e6, 9e9)};
    StepWork work = small_work();
    double before = 0;
    for (const double flops : {1e2, 1e3, 1e4, 1e5, 1e6}) {
        work.flops = 90 * flops;
        const double now = predict_step(device, work)->products;
        EXPECT_GE(now, before * (1 - 1e-9));
        before = now;
    }
}

TEST(StepTime, MemoryAndLaunchesAreAddedWhereTheyWereMeasured) {
    DeviceCalibration device = plain_device(1e9);
    device.launch = MeasuredTime{1e-3, 1e-3, 1e-3};
    device.memory_rate = 1e6;
    const auto time = predict_step(device, small_work());
    EXPECT_DOUBLE_EQ(time->launches, 10 * 32 * 1e-3);
    EXPECT_DOUBLE_EQ(time->memory, 10 * 4 * (9 * 7500.0 + 8 * 100.0 * 3 * 50) / 1e6);
}

TEST(StepTime, NothingIsPredictedFromWhatIsNotKnown) {
    EXPECT_FALSE(predict_step({}, small_work()));
    StepWork work = small_work();
    work.precision = "bfloat16";
    EXPECT_FALSE(predict_step(plain_device(1e9), work)) << "a precision that was not measured";
    DeviceCalibration device = plain_device(1e9);
    for (MeasuredProduct& product : device.products) product.time.reset();
    EXPECT_FALSE(predict_step(device, small_work())) << "products that were left out";
    for (double StepWork::*member : {&StepWork::flops, &StepWork::updates, &StepWork::rows}) {
        work = small_work();
        work.*member = 0;
        EXPECT_FALSE(predict_step(plain_device(1e9), work));
        work.*member = std::nan("");
        EXPECT_FALSE(predict_step(plain_device(1e9), work));
    }
}

TEST(StepTime, TheWorkOfATrialFollowsFromItsPlanAndItsConfiguration) {
    from_worker::PlanAnswer answer;
    answer.flops_per_step = 1e9;
    answer.iterations_per_step = 20;
    answer.training_samples = 54'000;
    answer.parameters = 500;
    StepWork work = step_work(answer, {});
    EXPECT_EQ(work.rows, 256);
    EXPECT_EQ(work.layers, 3);
    EXPECT_EQ(work.precision, "float32");
    work = step_work(answer, {{"batch_size", std::int64_t{512}},
                              {"accumulation", std::int64_t{4}},
                              {"steps", std::int64_t{60}},
                              {"hidden", std::vector<std::int64_t>{64, 32, 16}},
                              {"precision", std::string("bfloat16")}});
    EXPECT_EQ(work.flops, 1e9);
    EXPECT_EQ(work.updates, 20);
    EXPECT_EQ(work.parameters, 500);
    EXPECT_EQ(work.rows, 128 * 60);
    EXPECT_EQ(work.layers, 4);
    EXPECT_EQ(work.precision, "bfloat16");
    EXPECT_EQ(step_work(answer, {{"precision", std::string("auto")}}).precision, "auto");
}

TEST(StepTime, AutoIsTheFastestPrecisionOfTheDevice) {
    DeviceCalibration device = plain_device(1e9);
    StepWork work{.flops = 1e9, .updates = 10, .parameters = 500, .rows = 64};
    const double in_float32 = predict_step(device, work)->seconds();
    work.precision = "auto";
    EXPECT_EQ(precision_on(device, work), "float32");
    EXPECT_DOUBLE_EQ(predict_step(device, work)->seconds(), in_float32);
    const std::vector<MeasuredProduct> float32 = device.products;
    for (MeasuredProduct product : float32) {
        product.precision = "bfloat16";
        product.time->seconds /= 4;
        device.products.push_back(product);
    }
    EXPECT_EQ(precision_on(device, work), "bfloat16");
    EXPECT_LT(predict_step(device, work)->products, in_float32 / 3);
    EXPECT_EQ(precision_on({}, work), "float32");
}

}  // namespace
}  // namespace hpo
