#include "worker/training/trial_progress.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace hpo {
namespace {

Report step_with(TrialProgress& progress, double value) {
    Report report = progress.add_step(10, 2, 50);
    report.metrics["val_loss"] = value;
    return report;
}

TEST(TrialProgress, RatesOfTheStepAndOverAll) {
    TrialProgress progress;
    progress.add_step(10, 2, 50);
    const Report second = progress.add_step(30, 3, 50);
    EXPECT_EQ(second.step, 2);
    EXPECT_EQ(second.iteration, 40);
    EXPECT_EQ(*second.seconds, 5);
    EXPECT_EQ(*second.iterations_per_second, 10);
    EXPECT_EQ(*second.iterations_per_second_overall, 8);
    EXPECT_EQ(*second.samples_per_second, 500);
    EXPECT_EQ(*second.samples_per_second_overall, 400);
}

TEST(TrialProgress, AStepThatTookNoTimeHasNoRates) {
    TrialProgress progress;
    const Report report = progress.add_step(10, 0, 50);
    EXPECT_FALSE(report.iterations_per_second);
    EXPECT_FALSE(report.samples_per_second_overall);
}

TEST(TrialProgress, KeepsTheBestStepByTheObjective) {
    TrialProgress progress;
    const Objective objective{.metric = "val_loss", .direction = Direction::minimize, .at = Objective::At::best};
    EXPECT_TRUE(progress.keep_if_best(step_with(progress, .5), objective));
    EXPECT_FALSE(progress.keep_if_best(step_with(progress, .5), objective));  // the earlier of two equal ones
    EXPECT_FALSE(progress.keep_if_best(step_with(progress, .7), objective));
    EXPECT_TRUE(progress.keep_if_best(step_with(progress, .4), objective));
    EXPECT_EQ(progress.best_step, 4);
    EXPECT_EQ(progress.best_value, .4);
}

TEST(TrialProgress, KeepsTheLastFiniteStepIfThatIsTheObjective) {
    TrialProgress progress;
    const Objective objective{.metric = "val_loss", .direction = Direction::minimize, .at = Objective::At::last};
    EXPECT_TRUE(progress.keep_if_best(step_with(progress, .4), objective));
    EXPECT_TRUE(progress.keep_if_best(step_with(progress, .7), objective));
    EXPECT_FALSE(progress.keep_if_best(step_with(progress, std::numeric_limits<double>::quiet_NaN()), objective));
    EXPECT_FALSE(progress.keep_if_best(progress.add_step(10, 2, 50), objective));  // was not evaluated
    EXPECT_EQ(progress.best_step, 2);
    EXPECT_EQ(progress.best_value, .7);
}

}  // namespace
}  // namespace hpo
