#include <gtest/gtest.h>

#include <cmath>

#include "worker/training/trial_messages.hpp"

namespace hpo {
namespace {

TEST(TaskMetrics, PerplexityIsTheExponentialOfTheLossWhereTheTargetIsTheNextToken) {
    DeviceData data;
    data.folds.resize(1);
    data.shape.sample = TokenShape{16, 50};
    data.shape.target_per_step = true;
    const Evaluation evaluation{.loss = std::log(8.0), .accuracy = 0.25};
    const Metrics validated = task_metrics(Task::classification, evaluation, data, Part::train);
    EXPECT_EQ(validated.size(), 3u);
    EXPECT_NEAR(validated.at("val_perplexity"), 8, 1e-12);
    EXPECT_EQ(validated.at("val_accuracy"), 0.25);
    EXPECT_NEAR(task_metrics(Task::classification, evaluation, data, Part::test).at("test_perplexity"), 8, 1e-12);
    data.shape.target_per_step = false;  // the class of a sequence
    EXPECT_EQ(task_metrics(Task::classification, evaluation, data, Part::train).count("val_perplexity"), 0u);
}

TEST(TaskMetrics, ErrorsOfNumbersAreInTheUnitsOfTheFile) {
    DeviceData data;
    data.folds.resize(1);
    data.shape.task = Task::regression;
    data.folds.front().facts.target_deviation = 10;
    data.folds.front().validation_variance = 0.5;
    const Metrics metrics = task_metrics(Task::regression, {.loss = 0.125, .absolute = 0.25}, data, Part::train);
    EXPECT_EQ(metrics.at("val_loss"), 0.125);
    EXPECT_EQ(metrics.at("val_mse"), 12.5);
    EXPECT_EQ(metrics.at("val_mae"), 2.5);
    EXPECT_EQ(metrics.at("val_r2"), 0.75);
}

}  // namespace
}  // namespace hpo
