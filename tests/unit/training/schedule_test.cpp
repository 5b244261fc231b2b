#include "worker/training/schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace hpo {
namespace {

TrainingConfig config(ScheduleKind kind, double warmup) {
    TrainingConfig config;
    config.schedule = kind;
    config.lr = 0.5;
    config.warmup = warmup;
    return config;
}

TEST(Schedule, ConstantStaysAtItsPeak) {
    const Schedule schedule = make_schedule(config(ScheduleKind::constant, 0), 100, 10);
    for (const int i : {0, 50, 99, 1000}) EXPECT_EQ(schedule.at(i), 0.5);
}

TEST(Schedule, WarmUpRisesLinearlyInEpochs) {
    const Schedule schedule = make_schedule(config(ScheduleKind::constant, 0.5), 100, 10);
    EXPECT_DOUBLE_EQ(schedule.at(0), 0.1);
    EXPECT_DOUBLE_EQ(schedule.at(3), 0.4);
    EXPECT_DOUBLE_EQ(schedule.at(4), 0.5);
    EXPECT_DOUBLE_EQ(schedule.at(5), 0.5);
}

TEST(Schedule, CosineFallsFromThePeakToAlmostNothing) {
    const Schedule schedule = make_schedule(config(ScheduleKind::cosine, 0), 100, 10);
    EXPECT_DOUBLE_EQ(schedule.at(0), 0.5);
    EXPECT_NEAR(schedule.at(50), 0.25, 1e-12);
    EXPECT_GT(schedule.at(99), 0);
    EXPECT_LT(schedule.at(99), 0.001);
    for (int i = 1; i < 100; ++i) EXPECT_LT(schedule.at(i), schedule.at(i - 1));
}

TEST(Schedule, CosineBeginsItsFallAfterTheWarmUp) {
    const Schedule schedule = make_schedule(config(ScheduleKind::cosine, 2), 100, 10);
    EXPECT_DOUBLE_EQ(schedule.at(19), 0.5);
    EXPECT_DOUBLE_EQ(schedule.at(20), 0.5);
    EXPECT_NEAR(schedule.at(60), 0.25, 1e-12);
}

TEST(Schedule, OneCycleRisesOverThirtyPerCentUnlessToldOtherwise) {
    const Schedule schedule = make_schedule(config(ScheduleKind::one_cycle, 0), 100, 10);
    EXPECT_NEAR(schedule.at(0), 0.5 / 25, 1e-12);
    EXPECT_DOUBLE_EQ(schedule.at(30), 0.5);
    EXPECT_LT(schedule.at(29), 0.5);
    EXPECT_LT(schedule.at(99), 0.001);
    const Schedule early = make_schedule(config(ScheduleKind::one_cycle, 1), 100, 10);
    EXPECT_DOUBLE_EQ(early.at(10), 0.5);
}

TEST(Schedule, AWarmUpLongerThanTheBudgetIsCutToIt) {
    const Schedule schedule = make_schedule(config(ScheduleKind::cosine, 1e6), 100, 10);
    EXPECT_DOUBLE_EQ(schedule.at(0), 0.005);
    EXPECT_DOUBLE_EQ(schedule.at(99), 0.5);
    EXPECT_DOUBLE_EQ(schedule.at(100), 0.5);
}

TEST(Schedule, ABudgetOfOneIterationWorks) {
    for (const auto kind : {ScheduleKind::constant, ScheduleKind::cosine, ScheduleKind::one_cycle})
        EXPECT_TRUE(std::isfinite(make_schedule(config(kind, 0), 1, 1).at(0)));
}

}  // namespace
}  // namespace hpo
