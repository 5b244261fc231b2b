#include "worker/calibration.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "hpo/clock.hpp"
#include "worker/backends/backends.hpp"

namespace hpo {
namespace {

std::vector<nlohmann::json> measured(const CalibrationOptions& options) {
    const auto device = make_device({});
    const SteadyClock clock;
    std::vector<nlohmann::json> all;
    calibrate(**device, clock, options, [&](const nlohmann::json& one) { all.push_back(one); });
    return all;
}

CalibrationOptions tiny() {
    return {.products = {{8, 16, 4}, {8, 16, 4, 3}}, .seconds = 1e-4, .streamed = 1 << 16, .copied = 1 << 12};
}

TEST(Calibrate, BeginsWithTheDeviceAndMeasuresEachProductInEachPrecision) {
    const auto all = measured(tiny());
    ASSERT_GE(all.size(), 8U);
    EXPECT_EQ(all[0]["measured"], "device");
    EXPECT_EQ(all[0]["backend"], "cpu");
    EXPECT_NE(all[0]["identity"].get<std::string>().find(all[0]["name"].get<std::string>()), std::string::npos);
    const auto device = make_device({});
    int products = 0;
    for (const auto& one : all) {
        if (one["measured"] == "device") continue;
        EXPECT_GT(one["seconds"], 0.0) << one;
        EXPECT_LE(one["least"], one["seconds"]) << one;
        EXPECT_LE(one["seconds"], one["most"]) << one;
        if (one["measured"] == "product") ++products;
    }
    int precisions = 0;
    for (const Precision precision : {Precision::float32, Precision::tf32, Precision::bfloat16, Precision::float16})
        if ((*device)->computes_in(precision)) ++precisions;
    EXPECT_EQ(products, 2 * precisions);
    EXPECT_EQ(all.back()["replicas"], 3);
    EXPECT_EQ(all.back()["flops"], 2.0 * 8 * 16 * 4 * 3);
}

TEST(Calibrate, AProductThatWouldTakeTooLongIsLeftOutWithTheReason) {
    CalibrationOptions options = tiny();
    options.products = {{8, 8, 8}, {64, 64, 64}};
    options.longest = 1e-12;
    const auto all = measured(options);
    int left_out = 0;
    for (const auto& one : all)
        if (one["measured"] == "product" && one.contains("left_out")) {
            ++left_out;
            EXPECT_EQ(one["rows"], 64);
            EXPECT_FALSE(one.contains("seconds"));
        }
    EXPECT_GE(left_out, 1);
}

TEST(Calibrate, TheQuickProductsAreTheFirstOfAll) {
    EXPECT_LT(quick_products().size(), standard_products().size());
    for (const ProductShape& shape : quick_products()) EXPECT_LE(shape.flops(), 2.0 * 1024 * 1024 * 1024);
}

}  // namespace
}  // namespace hpo
