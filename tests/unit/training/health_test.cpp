#include "worker/training/health.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace hpo {
namespace {

using ::testing::HasSubstr;

template <class F>
LossWindow window_of(int count, F&& loss) {
    LossWindow window;
    for (int i = 0; i < count; ++i) window.push(loss(i));
    return window;
}

double wiggle(int i) { return i % 2 == 0 ? 0.01 : -0.01; }

TEST(LossWindow, FindsMeanDeviationAndSlopeOfALine) {
    const auto line = window_of(50, [](int i) { return 3 - 0.5 * i; }).line();
    ASSERT_TRUE(line);
    EXPECT_NEAR(line->slope, -0.5, 1e-12);
    EXPECT_NEAR(line->mean, 3 - 0.5 * 24.5, 1e-12);
    EXPECT_NEAR(line->deviation, 0.5 * std::sqrt(50.0 * 51 / 12), 1e-9);
    EXPECT_NEAR(line->error, 0, 1e-9);
}

TEST(LossWindow, RemembersTheLastHundredAlone) {
    const auto line = window_of(1000, [](int i) { return i < 900 ? 1e6 : 1.0 + (i - 900); }).line();
    EXPECT_NEAR(line->mean, 50.5, 1e-9);
    EXPECT_NEAR(line->slope, 1, 1e-12);
}

TEST(LossWindow, SaysNothingOfTwoLosses) {
    EXPECT_FALSE(window_of(2, [](int) { return 1.0; }).line());
    EXPECT_TRUE(window_of(3, [](int) { return 1.0; }).line());
}

TEST(Health, FallingOrSteadyLossesAreWell) {
    EXPECT_EQ(health_warning(window_of(100, [](int i) { return 2 - 0.01 * i + wiggle(i); }), {1, 3}), "");
    EXPECT_EQ(health_warning(window_of(100, [](int i) { return 0.3 + wiggle(i); }), {1, 3}), "");
}

TEST(Health, WarnsOfALossThatRises) {
    EXPECT_THAT(health_warning(window_of(100, [](int i) { return 1 + 0.005 * i + wiggle(i); }), {1, 3}),
                HasSubstr("rises"));
}

TEST(Health, WarnsOfALossThatJumpsAround) {
    EXPECT_THAT(health_warning(window_of(100, [](int i) { return i % 7 == 0 ? 5.0 : 0.5; }), {1, 3}),
                HasSubstr("jumps"));
}

TEST(Health, IsSilentOnALossThatFallsFast) {
    EXPECT_EQ(
        health_warning(window_of(100, [](int i) { return 0.05 + 2.3 * std::exp(-0.05 * i) + wiggle(i); }), {1, 3}), "");
}

TEST(Health, WarnsOfGradientsThatSpikeOrExplode) {
    const auto calm = window_of(100, [](int i) { return 1.0 + wiggle(i); });
    EXPECT_THAT(health_warning(calm, {1, 21}), HasSubstr("gradient"));
    EXPECT_THAT(health_warning(calm, {2000, 3000}), HasSubstr("gradient"));
}

TEST(Health, DoesNotJudgeByAFewLosses) {
    EXPECT_EQ(health_warning(window_of(19, [](int i) { return 1.0 + i; }), {1, 3}), "");
}

}  // namespace
}  // namespace hpo
