#include "worker/training/task_loss.hpp"

#include <cstdint>

namespace hpo {

/// A row of the loss is a target: a sample, or a step of one.
void compute_loss(Stream& stream, const GroupPlan& plan, const LossOf& of) {
    const std::int64_t per_sample = plan.model->targets();
    Extent extent = of.extent;
    extent.rows_per_sample = static_cast<std::uint32_t>(per_sample);
    const Tensor targets = of.targets.slice(0, of.targets.rows * per_sample, of.targets.columns / per_sample);
    const float weight_of_number = of.weight / static_cast<float>(plan.model->outputs());
    if (plan.task == Task::regression) {
        stream.enqueue(SquaredError{.predictions = of.outputs,
                                    .targets = targets,
                                    .loss = plan.arena.loss,
                                    .absolute = plan.arena.absolute,
                                    .gradient = of.gradient,
                                    .weight = weight_of_number,
                                    .write = of.write,
                                    .scale = of.scale,
                                    .weights = of.weights,
                                    .extent = extent});
        return;
    }
    const CrossEntropy arguments{.logits = of.outputs,
                                 .labels = targets,
                                 .smoothing = of.smoothing,
                                 .loss = plan.arena.loss,
                                 .correct = plan.arena.correct,
                                 .gradient = of.gradient,
                                 .weight = plan.task == Task::classification ? of.weight : weight_of_number,
                                 .write = of.write,
                                 .scale = of.scale,
                                 .weights = of.weights,
                                 .extent = extent,
                                 .class_weights = of.class_weights};
    plan.task == Task::classification ? stream.enqueue(arguments) : stream.enqueue(BinaryCrossEntropy{arguments});
}

}  // namespace hpo
