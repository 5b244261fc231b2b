#include "worker/training/objective.hpp"

#include "hpo/tasks.hpp"
#include "worker/training/class_tally.hpp"
#include "worker/training/group_plan.hpp"
#include "worker/training/worker_context.hpp"

namespace hpo {

void check_objective(const std::string& metric, const DataShape& shape) {
    const Task task = shape.task;
    if (metric == "val_auc" && task != Task::regression && !ranks_classes(shape))
        throw InvalidTrial("objective.metric: val_auc is of one class for each sample, out of at most " +
                           std::to_string(ClassTally::most_ranked) + ": use val_loss, val_accuracy or val_f1");
    constexpr std::int64_t likeliest = 5;
    if (metric == "val_top5" && task == Task::classification && shape.outputs <= likeliest)
        throw InvalidTrial("objective.metric: val_top5 is 1 for every model, as there are only " +
                           std::to_string(shape.outputs) + " classes: use val_accuracy, val_f1 or val_loss");
    const bool next_token = std::holds_alternative<TokenShape>(shape.sample) && shape.target_per_step;
    const auto reported = [&](std::string_view name) { return name != "val_perplexity" || next_token; };
    if (find_metric(task, metric) && reported(metric)) return;
    std::string names;
    for (const TaskMetric& one : info_of(task).metrics)
        if (reported(one.name)) names += (names.empty() ? "" : ", ") + std::string(one.name);
    throw InvalidTrial("objective.metric: " + metric + " is not one of " + names + ", which " +
                       std::string(info_of(task).name) + " has");
}

}  // namespace hpo
