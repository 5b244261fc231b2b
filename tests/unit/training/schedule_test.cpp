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

TEST(Schedule, StepsMultiplyTheRateEverySoManyEpochs) {
    TrainingConfig every_two = config(ScheduleKind::step, 0);
    every_two.lr_decay_every = 2;
    every_two.lr_decay = 0.5;
    const Schedule schedule = make_schedule(every_two, 100, 10);
    EXPECT_DOUBLE_EQ(schedule.at(19), 0.5);
    EXPECT_DOUBLE_EQ(schedule.at(20), 0.25);
    EXPECT_DOUBLE_EQ(schedule.at(40), 0.125);
    const Schedule thirds = make_schedule(config(ScheduleKind::step, 0), 99, 10);
    EXPECT_DOUBLE_EQ(thirds.at(32), 0.5);
    EXPECT_DOUBLE_EQ(thirds.at(33), 0.05);
    EXPECT_NEAR(thirds.at(98), 0.005, 1e-12);
    // Epochs of one update: the interval is not rounded to whole updates.
    TrainingConfig halves = every_two;
    halves.lr_decay_every = 3.5;
    const Schedule short_epochs = make_schedule(halves, 10, 1);
    EXPECT_DOUBLE_EQ(short_epochs.at(3), 0.5);
    EXPECT_DOUBLE_EQ(short_epochs.at(4), 0.25);
    EXPECT_DOUBLE_EQ(short_epochs.at(6), 0.25);
    EXPECT_DOUBLE_EQ(short_epochs.at(7), 0.125);
    EXPECT_DOUBLE_EQ(make_schedule(config(ScheduleKind::step, 0), 10, 1).at(9), 0.005)
        << "two thirds, and no third one";
    halves.lr_decay_every = 0.1;
    EXPECT_DOUBLE_EQ(make_schedule(halves, 100, 30).at(3), 0.25) << "0.1 * 30 is above 3 by a rounding error";
    const Schedule warm = make_schedule(
        [] {
            TrainingConfig both = config(ScheduleKind::step, 1);
            both.lr_decay_every = 0.5;
            return both;
        }(),
        100, 10);
    EXPECT_DOUBLE_EQ(warm.at(9), 0.5) << "the rise is not decayed";
}

TEST(Schedule, WsdIsConstantAndFallsInTheLastPart) {
    TrainingConfig half = config(ScheduleKind::wsd, 1);
    half.cooldown = 0.5;
    const Schedule schedule = make_schedule(half, 100, 10);
    EXPECT_DOUBLE_EQ(schedule.at(0), 0.05);
    for (const int i : {10, 49, 50}) EXPECT_DOUBLE_EQ(schedule.at(i), 0.5);
    EXPECT_NEAR(schedule.at(62), 0.5 * (1 - std::sqrt(12.0 / 50)), 1e-12);
    EXPECT_GT(schedule.at(99), 0);
    EXPECT_LT(schedule.at(99), 0.01);
}

TEST(Plateau, DecaysAfterMoreThanPatienceStepsWithoutALowerLoss) {
    TrainingConfig training = config(ScheduleKind::plateau, 0);
    training.lr_patience = 2;
    training.lr_decay = 0.1;
    Plateau plateau;
    for (const double loss : {1.0, 0.5, 0.6, 0.5, 0.49999}) plateau.tell(loss, training);
    EXPECT_DOUBLE_EQ(plateau.scale, 0.1) << "a ten-thousandth is no improvement, and the third step without one decays";
    for (const double loss : {0.4, 0.5, 0.5}) plateau.tell(loss, training);
    EXPECT_DOUBLE_EQ(plateau.scale, 0.1);
    plateau.tell(0.4, training);
    EXPECT_NEAR(plateau.scale, 0.01, 1e-15);
}

TEST(Schedule, ABudgetOfOneIterationWorks) {
    for (const auto kind : {ScheduleKind::constant, ScheduleKind::cosine, ScheduleKind::one_cycle, ScheduleKind::step,
                            ScheduleKind::wsd, ScheduleKind::plateau})
        EXPECT_TRUE(std::isfinite(make_schedule(config(kind, 0), 1, 1).at(0)));
}

}  // namespace
}  // namespace hpo
