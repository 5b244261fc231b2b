#include "worker/trees/tree_evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "worker/training/group_plan.hpp"

namespace hpo {
namespace {

/// The logarithm of 1 + exp(x).
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

struct Sums {
    double loss = 0, right = 0, absolute = 0;
};

Sums of_classes(std::span<const float> logits, std::span<const float> targets) {
    const std::size_t width = logits.size() / targets.size();
    Sums sums;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const auto row = logits.subspan(i * width, width);
        const auto largest = std::ranges::max_element(row);
        double sum = 0;
        for (const float logit : row) sum += std::exp(static_cast<double>(logit) - *largest);
        const auto label = static_cast<std::size_t>(targets[i]);
        sums.loss += std::log(sum) + *largest - row[label];
        sums.right += static_cast<std::size_t>(largest - row.begin()) == label ? 1 : 0;
    }
    return sums;
}

Sums of_labels(std::span<const float> logits, std::span<const float> targets) {
    Sums sums;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const bool has = targets[i] > 0.5F;
        sums.loss += softplus(has ? -logits[i] : logits[i]);
        sums.right += (logits[i] > 0) == has ? 1 : 0;
    }
    return sums;
}

Sums of_numbers(std::span<const float> predictions, std::span<const float> targets) {
    Sums sums;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const double error = static_cast<double>(predictions[i]) - targets[i];
        sums.loss += error * error;
        sums.absolute += std::abs(error);
    }
    return sums;
}

ClassTally::Metrics tally(std::span<const float> logits, std::span<const float> targets, const DataShape& shape) {
    ClassTally counts(shape.outputs, ranks_classes(shape));
    if (shape.task == Task::classification) {
        const std::vector<std::int32_t> labels(targets.begin(), targets.end());
        counts.add(logits, std::span<const std::int32_t>(labels));
    } else {
        counts.add(logits, targets);
    }
    return counts.metrics();
}

}  // namespace

Evaluation evaluate_margins(std::span<const float> outputs, std::span<const float> targets, const DataShape& shape,
                            bool class_metrics) {
    const auto count = static_cast<double>(targets.size());
    const Sums sums = shape.task == Task::classification ? of_classes(outputs, targets)
                      : shape.task == Task::multi_label  ? of_labels(outputs, targets)
                                                         : of_numbers(outputs, targets);
    Evaluation evaluation{sums.loss / count, sums.right / count, sums.absolute / count, {}};
    if (class_metrics && shape.task != Task::regression) evaluation.of_classes = tally(outputs, targets, shape);
    return evaluation;
}

}  // namespace hpo
