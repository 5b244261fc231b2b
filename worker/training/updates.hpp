// Updates the weights by the replicas' optimizers, after the gradients of an iteration.
#pragma once

#include <cstdint>
#include <span>

#include "worker/backends/backend.hpp"
#include "worker/training/group_plan.hpp"
#include "worker/training/replica.hpp"

namespace hpo {

/// The optimizers of live replicas: they determine which operations an update consists of.
struct Optimizers {
    bool adamw = false;
    bool sgd = false;
    bool lion = false;
    bool in_backward = false;  ///< AdamW updates weight matrices in the backward pass

    /// A number below 16 for each combination.
    [[nodiscard]] std::uint64_t number() const {
        return static_cast<std::uint64_t>((adamw ? 1 : 0) + (sgd ? 2 : 0) + (lion ? 4 : 0) + (in_backward ? 8 : 0));
    }
};
Optimizers optimizers_of(std::span<const Replica> replicas, const GroupPlan& plan, const Stream& stream);

/// Returns the tensors of an update in the backward pass, with Optimizers::in_backward.
UpdateInBackward update_in_backward(const GroupPlan& plan);
/// Ends an iteration: updates the weights with GroupArena::gradient, and counts the iteration.
void update_weights(Stream& stream, const GroupPlan& plan, Optimizers used);

}  // namespace hpo
