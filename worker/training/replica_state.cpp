#include "worker/training/replica_state.hpp"

#include <array>
#include <cassert>
#include <cstdint>

#include "worker/training/muon.hpp"

namespace hpo {
namespace {

/// Everything that a state consists of; some are none.
std::array<Tensor, 6> tensors_of(const GroupPlan& plan) {
    return {plan.arena.weights, plan.arena.first_moment,    plan.arena.second_moment,
            plan.arena.average, plan.numbers.scaling.scale, plan.numbers.scaling.good};
}

}  // namespace

ReplicaState::ReplicaState(Stream& stream, const GroupPlan& plan, const DeviceData& data)
    : stream_(stream), plan_(plan), data_(data) {
    if (plan.fusion == Fusion::padded)
        for (auto* block : {&padded_, &unpadded_}) block->resize(static_cast<std::size_t>(plan.arena.weights.columns));
}

void ReplicaState::write_numbers(int k, const Replica& replica) {
    const ReplicaNumbers& numbers = plan_.numbers;
    const ReplicaSpec& spec = replica.spec;
    const TrainingConfig& training = spec.training;
    const FoldFacts& fold = data_.folds[static_cast<std::size_t>(spec.fold)];
    const auto number = [&](const Tensor& to, double value) { stream_.write(to, k, static_cast<float>(value)); };
    const auto whole = [&](const Tensor& to, std::int64_t value) {
        stream_.write(to, k, static_cast<std::uint32_t>(value));
    };
    const auto flag = [&](const Tensor& to, bool value) { stream_.write(to, k, static_cast<std::uint8_t>(value)); };
    std::vector<float> decays;
    for (const double factor : replica.rate_factors)
        decays.push_back(static_cast<float>(training.weight_decay / factor));
    stream_.write(plan_.arena.weight_decay, k, std::span<const float>(decays));
    number(numbers.dropout, training.dropout);
    number(numbers.smoothing, training.label_smoothing);
    number(numbers.no_smoothing, 0);
    number(numbers.clip, training.clip);
    number(numbers.beta1, training.beta1);
    number(numbers.beta2, training.beta2);
    number(numbers.epsilon, training.epsilon);
    number(numbers.momentum, training.momentum);
    if (plan_.arena.orthogonal.divisors) write_orthogonal_divisors(stream_, k, plan_, *spec.model);
    const std::int64_t batch = training.batch_size;
    const std::int64_t targets = batch * plan_.model->targets();
    const std::int64_t weighed = plan_.task == Task::classification ? targets : targets * plan_.model->outputs();
    number(numbers.target_weight, 1.0F / static_cast<float>(weighed));
    if (plan_.arena.class_weights) {
        const auto weights = class_weights_of(training.class_weights, plan_.task, fold.class_counts,
                                              fold.train * plan_.model->targets());
        stream_.write(plan_.arena.class_weights, k, std::span<const float>(weights));
    }
    whole(numbers.batch, batch);
    whole(numbers.batch_rows, plan_.micro_batch_of(batch));
    whole(numbers.iteration, replica.progress.iteration);
    stream_.write(numbers.seed, k, spec.seed);
    flag(numbers.alive, replica.alive);
    flag(numbers.by_adamw, replica.alive && has_two_moments(training.optimizer));
    flag(numbers.by_sgd, replica.alive && training.optimizer == OptimizerKind::sgd);
    flag(numbers.by_lion, replica.alive && training.optimizer == OptimizerKind::lion);
    if (numbers.fold.part) {
        whole(numbers.fold.part, spec.fold);
        whole(numbers.fold.count, fold.train);
        number(numbers.fold.scale, fold.scale);
        number(numbers.fold.shift, fold.shift);
    }
    if (plan_.fusion == Fusion::padded) plan_.model->set_replica_model(stream_, k, *spec.model);
}

void ReplicaState::write_end(int k) {
    for (const Tensor* flag :
         {&plan_.numbers.alive, &plan_.numbers.by_adamw, &plan_.numbers.by_sgd, &plan_.numbers.by_lion})
        stream_.write(*flag, k, std::uint8_t{0});
}

void ReplicaState::initialise(int k, const Replica& replica) {
    stream_.select_replicas(k, 1);
    initialise_weights(k, replica);
    if (plan_.arena.average) stream_.enqueue(Copy{plan_.arena.weights, plan_.arena.average});
    stream_.enqueue(Fill{plan_.arena.first_moment, 0});
    if (plan_.arena.second_moment) stream_.enqueue(Fill{plan_.arena.second_moment, 0});
    if (plan_.numbers.scaling.scale) {
        stream_.enqueue(Fill{plan_.numbers.scaling.scale, LossScale::first});
        stream_.enqueue(Fill{plan_.numbers.scaling.good, 0});
    }
    stream_.enqueue(Fill{plan_.arena.gradient, 0});
}

/// A padded replica's weights are drawn in the layout of its own model, in the memory of its gradient, and then padded.
void ReplicaState::initialise_weights(int k, const Replica& replica) {
    if (plan_.fusion == Fusion::identical)
        return plan_.model->initialise(stream_, plan_.arena.weights, plan_.numbers.seed);
    const Model& model = *replica.spec.model;
    const Tensor drawn = plan_.arena.gradient.slice(0, 1, model.block().elements);
    model.initialise(stream_, drawn, plan_.numbers.seed);
    const auto weights = std::span(unpadded_).first(static_cast<std::size_t>(drawn.columns));
    stream_.read(drawn, k, weights);
    write_block(plan_.arena.weights, k, replica, weights);
}

/// Calls visit(tensor, its first element in the state, its elements) for each part of a state.
template <class F>
void ReplicaState::each_tensor(const ReplicaSpec& spec, F&& visit) const {
    const auto size = static_cast<std::size_t>(spec.model->block().elements);
    std::size_t first = 0;
    const auto next = [&](const Tensor& tensor, std::size_t elements) {
        visit(tensor, first, elements);
        first += elements;
    };
    next(plan_.arena.weights, size);
    next(plan_.arena.first_moment, size);
    if (has_two_moments(spec.training.optimizer)) next(plan_.arena.second_moment, size);
    if (plan_.arena.average) next(plan_.arena.average, size);
    if (!plan_.numbers.scaling.scale) return;
    next(plan_.numbers.scaling.scale, 1);
    next(plan_.numbers.scaling.good, 1);
}

void ReplicaState::write(int k, const Replica& replica, std::span<const float> state) {
    each_tensor(replica.spec, [&](const Tensor& tensor, std::size_t first, std::size_t size) {
        const auto part = state.subspan(first, size);
        size > 1 ? write_block(tensor, k, replica, part) : stream_.write(tensor, k, part);
    });
    stream_.select_replicas(k, 1);
    stream_.enqueue(Fill{plan_.arena.gradient, 0});
}

void ReplicaState::read(int k, const Replica& replica, std::span<float> state) {
    each_tensor(replica.spec, [&](const Tensor& tensor, std::size_t first, std::size_t size) {
        const auto part = state.subspan(first, size);
        size > 1 ? read_block(tensor, k, replica, part) : stream_.read(tensor, k, part);
    });
}

void ReplicaState::write_weights(int k, const Replica& replica, std::span<const float> from) {
    write_block(plan_.arena.evaluated(), k, replica, from);
}

void ReplicaState::read_weights(int k, const Replica& replica, std::span<float> to) {
    read_block(plan_.arena.evaluated(), k, replica, to);
}

void ReplicaState::copy(int from, int to) {
    stream_.select_replicas(0, 1);
    for (const Tensor& tensor : tensors_of(plan_))
        if (tensor) stream_.enqueue(Copy{tensor.replica(from), tensor.replica(to)});
}

void ReplicaState::copy_from(const Buffer& arena, const GroupPlan& plan) {
    const auto from = tensors_of(plan), to = tensors_of(plan_);
    for (std::size_t i = 0; i < to.size(); ++i)
        if (to[i]) stream_.copy_from(arena, from[i], to[i]);
    stream_.enqueue(Fill{plan_.arena.gradient, 0});
}

/// Reads a block of weights or moments in the layout of the replica's own model.
void ReplicaState::read_block(const Tensor& block, int k, const Replica& replica, std::span<float> to) {
    if (plan_.fusion == Fusion::identical) return stream_.read(block, k, to);
    stream_.read(block, k, std::span(padded_));
    unpad_block(plan_.model->block(), padded_, replica.spec.model->block(), to);
}

void ReplicaState::write_block(const Tensor& block, int k, const Replica& replica, std::span<const float> from) {
    if (plan_.fusion == Fusion::identical) return stream_.write(block, k, from);
    pad_block(replica.spec.model->block(), from, plan_.model->block(), padded_);
    stream_.write(block, k, std::span<const float>(padded_));
}

}  // namespace hpo
