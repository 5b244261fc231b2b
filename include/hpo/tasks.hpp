// The tasks of the native worker with their metrics. The orchestrator checks objectives against this table, and the
// worker reports these metrics.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "hpo/study.hpp"

namespace hpo {

enum class Task : std::uint8_t { classification, regression, multi_label };

/// The condition under which trials report a metric: always, if the target is the next token, or with
/// training.class_metrics.
enum class WhenReported : std::uint8_t { always, next_token, on_request };

struct TaskMetric {
    std::string_view name;
    Direction direction;  ///< in which it improves
    WhenReported reported = WhenReported::always;
};

struct TaskInfo {
    std::string_view name;                ///< value of `worker.task`
    std::span<const TaskMetric> metrics;  ///< of a step, in the order of the log's lines
    std::string_view objective;           ///< the metric that ranks trials by default
};

// "loss" is the mean of the minimized loss over the training samples of the step, and "val_loss" over the validation
// samples, as all val_ metrics are. For classes it is the cross-entropy in nats, and accuracy is a fraction of 1.
// Perplexity is exp(val_loss). F1 is the mean over classes, and top5 the fraction of samples whose class is among the
// five that are thought likeliest. auc is the mean over classes of the area under the ROC curve of each against all
// others, of one class for each sample out of at most 100. For labels, of which a sample may have any number, the loss
// is the binary cross-entropy in nats, its mean over samples and labels; accuracy is the fraction of labels that are
// predicted right, where a probability above 0.5 predicts the label; F1 and auc are means over labels, and exact_match
// is the fraction of samples with all labels right. For numbers the loss is the squared error of standardized targets.
// mse and mae are in the target's units (mse in their square), and r2 is 1 minus the ratio of the mean squared error to
// the variance of the targets.
inline constexpr std::array classification_metrics{
    TaskMetric{"loss", Direction::minimize},
    TaskMetric{"val_loss", Direction::minimize},
    TaskMetric{"val_accuracy", Direction::maximize},
    TaskMetric{"val_perplexity", Direction::minimize, WhenReported::next_token},
    TaskMetric{"val_f1", Direction::maximize, WhenReported::on_request},
    TaskMetric{"val_top5", Direction::maximize, WhenReported::on_request},
    TaskMetric{"val_auc", Direction::maximize, WhenReported::on_request},
};
inline constexpr std::array regression_metrics{
    TaskMetric{"loss", Direction::minimize},    TaskMetric{"val_loss", Direction::minimize},
    TaskMetric{"val_mse", Direction::minimize}, TaskMetric{"val_mae", Direction::minimize},
    TaskMetric{"val_r2", Direction::maximize},
};
inline constexpr std::array multi_label_metrics{
    TaskMetric{"loss", Direction::minimize},
    TaskMetric{"val_loss", Direction::minimize},
    TaskMetric{"val_accuracy", Direction::maximize},
    TaskMetric{"val_f1", Direction::maximize, WhenReported::on_request},
    TaskMetric{"val_exact_match", Direction::maximize, WhenReported::on_request},
    TaskMetric{"val_auc", Direction::maximize, WhenReported::on_request},
};

/// The tasks in the order of Task.
inline constexpr std::array tasks{
    TaskInfo{"classification", classification_metrics, "val_accuracy"},
    TaskInfo{"regression", regression_metrics, "val_r2"},
    TaskInfo{"multi-label", multi_label_metrics, "val_loss"},
};

/// Returns the present name of a task. Files of hpo 0.1 may say image-classification.
constexpr std::string_view present_task(std::string_view name) {
    return name == "image-classification" ? "classification" : name;
}

constexpr const TaskInfo& info_of(Task task) { return tasks[static_cast<std::size_t>(task)]; }

/// Returns the metric with this name, or nullptr if the task does not have it.
constexpr const TaskMetric* find_metric(Task task, std::string_view name) {
    for (const TaskMetric& metric : info_of(task).metrics)
        if (metric.name == name) return &metric;
    return nullptr;
}

}  // namespace hpo
