// The loss of a group's task.
#pragma once

#include "worker/backends/backend.hpp"
#include "worker/training/group_plan.hpp"

namespace hpo {

/// The part of the loss that training and evaluation set differently.
struct LossOf {
    Tensor outputs, targets;
    Tensor gradient;  ///< none: not computed
    Tensor smoothing, scale, weights, class_weights;
    float weight = 1;  ///< of a target
    Write write = Write::set;
    Extent extent;
};
/// Computes the loss of a micro-batch into the plan's tensors.
void compute_loss(Stream& stream, const GroupPlan& plan, const LossOf& of);

}  // namespace hpo
