#include "worker/training/updates.hpp"

#include <algorithm>
#include <cstdint>

#include "worker/training/muon.hpp"

namespace hpo {

Optimizers optimizers_of(std::span<const Replica> replicas, const GroupPlan& plan, const Stream& stream) {
    Optimizers used;
    for (const Replica& replica : replicas)
        if (replica.alive) switch (replica.spec.training.optimizer) {
                case OptimizerKind::adamw:
                case OptimizerKind::muon:
                    used.adamw = true;
                    break;
                case OptimizerKind::sgd:
                    used.sgd = true;
                    break;
                case OptimizerKind::lion:
                    used.lion = true;
                    break;
            }
    // Clipping needs the norm of all gradients before the first update.
    const bool any_clips = std::any_of(replicas.begin(), replicas.end(), [](const Replica& replica) {
        return replica.alive && replica.spec.training.clip > 0;
    });
    used.in_backward =
        plan.updates_in_backward && stream.updates_in_backward() && used.adamw && !used.sgd && !used.lion && !any_clips;
    return used;
}

namespace {

/// The parameters of a run, in each tensor of the block's size.
Update update_of(const GroupPlan& plan, std::size_t index) {
    const RateRun& run = plan.runs[index];
    const auto row = static_cast<std::int64_t>(index);
    const Tensor& rounded = plan.model->rounded_weights();
    return {.weights = plan.arena.weights.slice(run.first, 1, run.elements),
            .gradient = plan.arena.gradient.slice(run.first, 1, run.elements),
            .decayed = run.decayed,
            .learning_rates = plan.arena.learning_rates.slice(row * plan.pace.window, 1, plan.pace.window),
            .window_index = plan.numbers.window_index,
            .weight_decay = plan.arena.weight_decay.at(row),
            .factor = plan.arena.factor,
            .alive = plan.numbers.by_adamw,
            .valid = plan.numbers.scaling.valid,
            .rounded = rounded && run.decayed > 0 ? rounded.slice(run.first, 1, run.decayed) : Tensor{}};
}

AdamW adamw_of(const GroupPlan& plan, std::size_t index) {
    const RateRun& run = plan.runs[index];
    const auto of = [&](const Tensor& block) { return block ? block.slice(run.first, 1, run.elements) : Tensor{}; };
    return {update_of(plan, index), of(plan.arena.first_moment), of(plan.arena.second_moment), plan.numbers.beta1,
            plan.numbers.beta2,     plan.numbers.epsilon,        plan.numbers.iteration};
}

/// With updates in the backward pass the gradients of the weight matrices are not written. The roots take the end of
/// their place, in front of the other gradients, so that one norm counts both.
Tensor roots_of(const GroupPlan& plan) {
    const std::int64_t parts = plan.model->gradient_parts();
    return parts > 0 ? plan.arena.gradient.slice(plan.model->block().decayed - parts, 1, parts) : Tensor{};
}

}  // namespace

UpdateInBackward update_in_backward(const GroupPlan& plan) { return {adamw_of(plan, 0), roots_of(plan)}; }

void update_weights(Stream& stream, const GroupPlan& plan, Optimizers used) {
    const auto from = [](const Tensor& block, std::int64_t first) {
        return block.slice(first, 1, block.columns - first);
    };
    const std::int64_t decayed = plan.model->block().decayed;
    stream.enqueue(GradientNorm{.gradient = used.in_backward
                                                ? from(plan.arena.gradient, decayed - roots_of(plan).columns)
                                                : plan.arena.gradient,
                                .limit = plan.numbers.clip,
                                .norm = plan.arena.norm,
                                .factor = plan.arena.factor,
                                .scaling = plan.numbers.scaling});
    for (std::size_t run = 0; run < plan.runs.size(); ++run) {
        if (plan.runs[run].orthogonal) {
            update_orthogonally(stream, plan, plan.runs[run], update_of(plan, run));
            continue;
        }
        AdamW adamw = adamw_of(plan, run);
        Update other = adamw.update;
        const Tensor moment = adamw.first_moment;
        if (used.in_backward) {
            for (Tensor* block :
                 {&adamw.update.weights, &adamw.update.gradient, &adamw.first_moment, &adamw.second_moment})
                *block = from(*block, decayed);
            adamw.update.decayed = 0;
            adamw.update.rounded = {};
        }
        if (used.adamw) stream.enqueue(adamw);
        other.alive = plan.numbers.by_sgd;
        if (used.sgd) stream.enqueue(Sgd{other, moment, plan.numbers.momentum, plan.shared.nesterov});
        other.alive = plan.numbers.by_lion;
        if (used.lion) stream.enqueue(Lion{other, moment, plan.numbers.beta1, plan.numbers.beta2});
    }
    // After all updates, also those of the backward pass.
    if (plan.arena.average)
        stream.enqueue(Average{.weights = plan.arena.weights,
                               .average = plan.arena.average,
                               .iteration = plan.numbers.iteration,
                               .alive = plan.numbers.alive,
                               .decay = static_cast<float>(plan.shared.ema)});
    stream.enqueue(Advance{.iteration = plan.numbers.iteration,
                           .alive = plan.numbers.alive,
                           .window_index = plan.numbers.window_index,
                           .loss = plan.arena.loss,
                           .norm = plan.arena.norm,
                           .losses = plan.arena.losses,
                           .norms = plan.arena.norms});
}

}  // namespace hpo
