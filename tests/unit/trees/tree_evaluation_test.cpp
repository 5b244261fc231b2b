#include "worker/trees/tree_evaluation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hpo::test {
namespace {

DataShape shape_of(Task task, std::int64_t outputs) {
    DataShape shape;
    shape.sample = VectorShape{1};
    shape.task = task;
    shape.outputs = outputs;
    return shape;
}

TEST(EvaluatedMargins, OfClassesGiveTheCrossEntropyAndTheAccuracy) {
    const std::vector<float> logits{0, 0, 0, 1000, 0, 0}, classes{2, 0};
    const Evaluation one = evaluate_margins(logits, classes, shape_of(Task::classification, 3), true);
    EXPECT_NEAR(one.loss, std::log(3.0) / 2, 1e-6);
    EXPECT_EQ(one.accuracy, 0.5);  // of equal logits the first one is the prediction
    ASSERT_TRUE(one.of_classes);
    EXPECT_TRUE(one.of_classes->auc);
}

TEST(EvaluatedMargins, OfLabelsGiveTheBinaryCrossEntropyOfEach) {
    const std::vector<float> logits{0, 500, -500, 1}, labels{1, 1, 0, 0};
    const Evaluation one = evaluate_margins(logits, labels, shape_of(Task::multi_label, 2), true);
    EXPECT_NEAR(one.loss, (std::log(2.0) + std::log1p(std::exp(1.0))) / 4, 1e-6);
    EXPECT_EQ(one.accuracy, 0.5);
    ASSERT_TRUE(one.of_classes);
    EXPECT_EQ(one.of_classes->exact, 0.0);
}

TEST(EvaluatedMargins, OfNumbersGiveTheMeanErrors) {
    const std::vector<float> predictions{1, 2, 3, 4}, numbers{1, 1, 1, 1};
    const Evaluation one = evaluate_margins(predictions, numbers, shape_of(Task::regression, 2), true);
    EXPECT_EQ(one.loss, 14.0 / 4);
    EXPECT_EQ(one.absolute, 6.0 / 4);
    EXPECT_FALSE(one.of_classes);
}

}  // namespace
}  // namespace hpo::test
