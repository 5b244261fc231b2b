// What models are trained to do, and what each task is measured by: the orchestrator checks objectives against this
// table, and the native worker reports by it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "hpo/study.hpp"

namespace hpo {

enum class Task : std::uint8_t { classification, regression };

struct TaskMetric {
    std::string_view name;
    Direction direction;  ///< in which it becomes better
};

struct TaskInfo {
    std::string_view name;                ///< as `worker.task` says it
    std::span<const TaskMetric> metrics;  ///< of a step, in the order of the log's lines
    std::string_view objective;           ///< the metric that ranks trials where a study names none
};

// "loss" is what training minimises, over the samples of the step; val_loss is the same over the validation samples, as
// all val_ metrics are. With classes it is the mean cross-entropy (nats), and accuracy is a fraction of 1. With numbers
// it is the mean squared error of standardised targets; mse and mae are in the target's units, and r2 is 1 less the
// ratio of the mean squared error to the variance of the targets.
inline constexpr std::array classification_metrics{
    TaskMetric{"loss", Direction::minimize},
    TaskMetric{"val_loss", Direction::minimize},
    TaskMetric{"val_accuracy", Direction::maximize},
};
inline constexpr std::array regression_metrics{
    TaskMetric{"loss", Direction::minimize},    TaskMetric{"val_loss", Direction::minimize},
    TaskMetric{"val_mse", Direction::minimize}, TaskMetric{"val_mae", Direction::minimize},
    TaskMetric{"val_r2", Direction::maximize},
};

/// In the order of Task.
inline constexpr std::array tasks{
    TaskInfo{"classification", classification_metrics, "val_accuracy"},
    TaskInfo{"regression", regression_metrics, "val_r2"},
};

constexpr const TaskInfo& info_of(Task task) { return tasks[static_cast<std::size_t>(task)]; }

/// nullptr: the task has no such metric.
constexpr const TaskMetric* find_metric(Task task, std::string_view name) {
    for (const TaskMetric& metric : info_of(task).metrics)
        if (metric.name == name) return &metric;
    return nullptr;
}

}  // namespace hpo
