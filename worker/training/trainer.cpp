#include "worker/training/trainer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "worker/training/muon.hpp"

namespace hpo {

Trainer::Trainer(Device& device, Buffer& arena, GroupPlan plan, const DeviceData& data,
                 std::span<const ReplicaSpec> replicas, std::int64_t steps, const Clock& clock)
    : plan_(std::move(plan)),
      data_(data),
      clock_(clock),
      arena_(arena),
      stream_(device.stream(arena, plan_.replicas)),
      window_(plan_.first_window),
      feed_(device, *stream_, arena, plan_, data, clock),
      rates_(static_cast<std::size_t>(plan_.learning_rates.all_replicas(plan_.replicas).columns)),
      losses_(rates_.size()),
      norms_(rates_.size()),
      first_window_indices_(static_cast<std::size_t>(plan_.replicas)) {
    assert(arena.bytes() >= plan_.arena_bytes);
    if (plan_.fusion == Fusion::padded)
        for (auto* block : {&padded_, &unpadded_}) block->resize(static_cast<std::size_t>(plan_.weights.columns));
    plan_.model->write_constants(*stream_);
    replicas_.reserve(index(plan_.replicas));
    for (const ReplicaSpec& spec : replicas) begin(this->replicas(), spec, steps);
}

void Trainer::begin(int replica, const ReplicaSpec& spec, std::int64_t steps) {
    set_up(replica, spec, steps, {});
    stream_->select_replicas(replica, 1);
    initialise(replica);
    if (plan_.average) stream_->copy(plan_.weights, plan_.average);
    stream_->fill(plan_.first_moment, 0);
    if (plan_.second_moment) stream_->fill(plan_.second_moment, 0);
    if (plan_.scaling.scale) {
        stream_->fill(plan_.scaling.scale, LossScale::first);
        stream_->fill(plan_.scaling.good, 0);
    }
    stream_->fill(plan_.gradient, 0);
    stream_->select_replicas(0, replicas());
}

void Trainer::resume(int replica, const ReplicaSpec& spec, std::int64_t steps, std::span<const float> state,
                     const ReplicaProgress& progress) {
    set_up(replica, spec, steps, progress);
    each_state_tensor(replica, [&](const Tensor& tensor, std::size_t first, std::size_t size) {
        const auto part = state.subspan(first, size);
        size > 1 ? write_block(tensor, replica, part) : stream_->write(tensor, replica, part);
    });
    stream_->select_replicas(replica, 1);
    stream_->fill(plan_.gradient, 0);
    stream_->select_replicas(0, replicas());
}

/// Sets up everything of a replica but its state.
void Trainer::set_up(int replica, const ReplicaSpec& spec, std::int64_t steps, const ReplicaProgress& progress) {
    rounded_from_ = nullptr;
    assert(replica <= replicas() && replica < plan_.replicas);
    assert(spec.training.batch_size <= plan_.shared.batch_size);
    feed_.restart();
    if (replica == replicas()) replicas_.emplace_back();
    Replica& it = replicas_[index(replica)] = {};
    it.spec = spec;
    if (!it.spec.model) it.spec.model = plan_.model.get();
    it.pace = pace_of(spec.training, data_.sizes.epoch());
    it.schedule = make_schedule(spec.training, steps * it.pace.iterations_per_step, it.pace.iterations_per_epoch);
    it.progress = progress;
    const ParameterBlock& block = it.spec.model->block();
    for (const RateRun& run : plan_.runs)
        it.rate_factors.push_back(rate_factor(block, block.parameters[run.parameter], spec.training.optimizer));
    write_per_replica(replica);
}

/// A padded replica's weights are drawn in the layout of its own model, in the memory of its gradient, and then padded.
void Trainer::initialise(int replica) {
    if (plan_.fusion == Fusion::identical) return plan_.model->initialise(*stream_, plan_.weights, plan_.seed);
    const Model& model = *replicas_[index(replica)].spec.model;
    const Tensor drawn = plan_.gradient.slice(0, 1, model.block().elements);
    model.initialise(*stream_, drawn, plan_.seed);
    const auto weights = std::span(unpadded_).first(static_cast<std::size_t>(drawn.columns));
    stream_->read(drawn, replica, weights);
    pad_block(model.block(), weights, plan_.model->block(), padded_);
    stream_->write(plan_.weights, replica, std::span<const float>(padded_));
}

void Trainer::adopt(const Trainer& other) {
    assert(replicas_.empty() && other.replicas() <= plan_.replicas);
    rounded_from_ = nullptr;
    replicas_ = other.replicas_;
    stream_->select_replicas(0, replicas());
    const auto state = [](const GroupPlan& plan) {
        return std::array{plan.weights, plan.first_moment,  plan.second_moment,
                          plan.average, plan.scaling.scale, plan.scaling.good};
    };
    const auto from = state(other.plan_), to = state(plan_);
    for (std::size_t i = 0; i < to.size(); ++i)
        if (to[i]) stream_->copy_from(other.arena_, from[i], to[i]);
    stream_->fill(plan_.gradient, 0);
    for (int k = 0; k < replicas(); ++k) {
        if (replicas_[index(k)].spec.model == other.plan_.model.get())
            replicas_[index(k)].spec.model = plan_.model.get();
        write_per_replica(k);
    }
    stream_->synchronise();
}

void Trainer::remove(int replica) {
    assert(replica < replicas() && replicas() > 1);
    feed_.restart();
    const int last = replicas() - 1;
    if (replica < last) {
        rounded_from_ = nullptr;
        stream_->select_replicas(0, 1);
        const auto& scaling = plan_.scaling;
        for (const Tensor& tensor :
             {plan_.weights, plan_.first_moment, plan_.second_moment, plan_.average, scaling.scale, scaling.good})
            if (tensor) stream_->copy(tensor.replica(last), tensor.replica(replica));
        std::swap(replicas_[index(replica)], replicas_[index(last)]);
        write_per_replica(replica);
    }
    replicas_.pop_back();
    stream_->select_replicas(0, replicas());
}

void Trainer::deactivate(int replica) {
    replicas_[index(replica)].alive = false;
    for (const Tensor* flag : {&plan_.alive, &plan_.by_adamw, &plan_.by_sgd, &plan_.by_lion})
        stream_->write(*flag, replica, std::uint8_t{0});
}

void Trainer::write_per_replica(int replica) {
    const ReplicaSpec& spec = replicas_[index(replica)].spec;
    const auto number = [&](const Tensor& to, double value) { stream_->write(to, replica, static_cast<float>(value)); };
    std::vector<float> decays;
    for (const double factor : replicas_[index(replica)].rate_factors)
        decays.push_back(static_cast<float>(spec.training.weight_decay / factor));
    stream_->write(plan_.weight_decay, replica, std::span<const float>(decays));
    number(plan_.dropout, spec.training.dropout);
    number(plan_.smoothing, spec.training.label_smoothing);
    number(plan_.no_smoothing, 0);
    number(plan_.clip, spec.training.clip);
    number(plan_.beta1, spec.training.beta1);
    number(plan_.beta2, spec.training.beta2);
    number(plan_.epsilon, spec.training.epsilon);
    number(plan_.momentum, spec.training.momentum);
    if (plan_.orthogonal.divisors) write_orthogonal_divisors(*stream_, replica, plan_, *spec.model);
    const std::int64_t batch = spec.training.batch_size;
    const std::int64_t targets = batch * plan_.model->targets();
    const std::int64_t weighed = plan_.task == Task::classification ? targets : targets * plan_.model->outputs();
    number(plan_.target_weight, 1.0F / static_cast<float>(weighed));
    if (plan_.class_weights) {
        const FoldFacts& fold = fold_of(replica);
        const auto weights = class_weights_of(spec.training.class_weights, plan_.task, fold.class_counts,
                                              fold.train * plan_.model->targets());
        stream_->write(plan_.class_weights, replica, std::span<const float>(weights));
    }
    const auto whole = [&](const Tensor& to, std::int64_t value) {
        stream_->write(to, replica, static_cast<std::uint32_t>(value));
    };
    whole(plan_.batch, batch);
    whole(plan_.batch_rows, plan_.micro_batch_of(batch));
    whole(plan_.iteration, replicas_[index(replica)].progress.iteration);
    stream_->write(plan_.seed, replica, spec.seed);
    const auto flag = [&](const Tensor& to, bool value) {
        stream_->write(to, replica, static_cast<std::uint8_t>(value));
    };
    const bool alive = replicas_[index(replica)].alive;
    flag(plan_.alive, alive);
    flag(plan_.by_adamw, alive && has_two_moments(spec.training.optimizer));
    flag(plan_.by_sgd, alive && spec.training.optimizer == OptimizerKind::sgd);
    flag(plan_.by_lion, alive && spec.training.optimizer == OptimizerKind::lion);
    if (plan_.fold.part) {
        const FoldFacts& fold = fold_of(replica);
        whole(plan_.fold.part, spec.fold);
        whole(plan_.fold.count, fold.train);
        number(plan_.fold.scale, fold.scale);
        number(plan_.fold.shift, fold.shift);
    }
    if (plan_.fusion == Fusion::padded) plan_.model->set_replica_model(*stream_, replica, *spec.model);
}

/// Has the model read its weights from `block`: in precisions of 16 bits they are rounded, unless the updates did that.
void Trainer::use_weights(const Tensor& block) {
    const Tensor& rounded = plan_.model->rounded_weights();
    if (!rounded || rounded_from_ == &block) return;
    rounded_from_ = &block;
    stream_->select_replicas(0, replicas());
    stream_->round(block.slice(0, 1, rounded.columns), rounded);
}

bool Trainer::train_step(const ShouldContinue& should_continue) {
    use_weights(plan_.weights);
    while (const std::int64_t count = iterations_ahead()) {
        const Seconds begin = clock_.now();
        prepare_window(count);
        for (std::int64_t i = 0; i < count; ++i) {
            if (!should_continue()) return false;
            if (feed_.stages()) feed_.send_batches(batch_orders());
            const Optimizers used = optimizers();  // `should_continue` may have deactivated replicas
            // The roots lie between gradients, whose padding is to be 0 again.
            if (std::exchange(in_backward_, used.in_backward) && !used.in_backward) stream_->fill(plan_.gradient, 0);
            const auto name = static_cast<std::uint64_t>((used.adamw ? 1 : 0) + (used.sgd ? 2 : 0) +
                                                         (used.lion ? 4 : 0) + (used.in_backward ? 8 : 0)) +
                              16 * std::uint64_t{feed_.place()};
            stream_->repeat(name, [this, used] { iterate(used); });
            for (Replica& replica : replicas_)
                if (replica.alive) ++replica.progress.iteration;
        }
        read_window(count);
        const Seconds took = clock_.now() - begin;
        for (Replica& replica : replicas_) replica.progress.seconds += took.count();
        feed_.took(count, took);
        if (count >= window_) window_ = next_window(window_, took, plan_.window);
        if (end_steps()) break;
    }
    return true;
}

/// The number of iterations of the next window, which ends when it is full or when a replica completes its step. 0: no
/// replica is alive.
std::int64_t Trainer::iterations_ahead() const {
    std::int64_t count = 0;
    for (const Replica& replica : replicas_) {
        if (!replica.alive) continue;
        const std::int64_t left = replica.pace.iterations_per_step - replica.progress.in_step;
        count = std::min(count > 0 ? count : window_, left);
    }
    return count;
}

Trainer::Optimizers Trainer::optimizers() const {
    Optimizers used;
    for (const Replica& replica : replicas_)
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
    const bool any_clips = std::any_of(replicas_.begin(), replicas_.end(), [](const Replica& replica) {
        return replica.alive && replica.spec.training.clip > 0;
    });
    used.in_backward = plan_.updates_in_backward && stream_->updates_in_backward() && used.adamw && !used.sgd &&
                       !used.lion && !any_clips;
    return used;
}

/// Ends the step of replicas that have done their iterations or have diverged. Returns whether there were any.
bool Trainer::end_steps() {
    bool any = false;
    for (Replica& replica : replicas_) {
        ReplicaProgress& progress = replica.progress;
        const bool over = progress.sums.diverged_at >= 0 || progress.in_step == replica.pace.iterations_per_step;
        if (progress.in_step == 0 || !over) continue;
        any = true;
        replica.step = progress.sums;
        replica.step.loss /= static_cast<double>(progress.in_step);
        replica.step.norms.mean /= static_cast<double>(progress.in_step);
        replica.step_seconds = progress.seconds;
        progress.in_step = 0;
        progress.sums = {};
        progress.seconds = 0;
    }
    return any;
}

/// Uploads the learning rates of the next `count` iterations, in two copies for any number of replicas.
void Trainer::prepare_window(std::int64_t count) {
    for (int k = 0; k < replicas(); ++k) {
        const Replica& replica = replicas_[index(k)];
        std::size_t first = first_of(plan_.learning_rates, k);
        for (const double factor : replica.rate_factors) {
            const double scale = factor * replica.rate_scale;
            for (std::int64_t i = 0; i < count; ++i)
                rates_[first + static_cast<std::size_t>(i)] =
                    static_cast<float>(scale * replica.schedule.at(replica.progress.iteration + i));
            first += static_cast<std::size_t>(plan_.window);
        }
    }
    const auto write_all = [this](const Tensor& table, const auto& values) {
        const Tensor all = table.all_replicas(replicas());
        stream_->write(all, 0, std::span(values).first(static_cast<std::size_t>(all.columns)));
    };
    write_all(plan_.learning_rates, rates_);
    write_all(plan_.window_index, first_window_indices_);
}

/// One update of every replica. With the same optimizers it consists of the same operations each time.
void Trainer::iterate(Optimizers used) {
    Training training{plan_.dropout, plan_.seed, plan_.iteration, {plan_.batch, plan_.batch_rows, 0}};
    const UpdateInBackward in_backward{adamw_of(0), roots()};
    if (used.in_backward) training.update = &in_backward;
    for (std::uint32_t& index = training.extent.micro_batch; index < plan_.micro_batches; ++index) {
        const std::int64_t rows = std::min(plan_.micro_batch, plan_.shared.batch_size - index * plan_.micro_batch);
        const Tensor input = plan_.input.first_rows(rows);
        const Tensor targets = plan_.targets.first_rows(rows);
        const Write write = index == 0 ? Write::set : Write::add;
        stream_->gather(feed_.source(data_.train), {.output = input,
                                                    .targets = targets,
                                                    .extent = training.extent,
                                                    .seed = plan_.seed,
                                                    .iteration = plan_.iteration,
                                                    .augment = plan_.augment,
                                                    .fold = plan_.fold});
        const Tensor outputs = plan_.model->forward(*stream_, plan_.weights, input, &training);
        compute_loss({.outputs = outputs,
                      .targets = targets,
                      .gradient = outputs,
                      .smoothing = plan_.smoothing,
                      .scale = plan_.scaling.scale,
                      .weights = plan_.target_weight,
                      .class_weights = plan_.class_weights,
                      .write = write,
                      .extent = training.extent});
        plan_.model->backward(*stream_, plan_.weights, plan_.gradient, input, outputs, training, write);
    }
    update(used);
}

/// A row of the loss is a target: a sample, or a step of one.
void Trainer::compute_loss(const LossOf& of) {
    const std::int64_t per_sample = plan_.model->targets();
    Extent extent = of.extent;
    extent.rows_per_sample = static_cast<std::uint32_t>(per_sample);
    const Tensor targets = of.targets.slice(0, of.targets.rows * per_sample, of.targets.columns / per_sample);
    const float weight_of_number = of.weight / static_cast<float>(plan_.model->outputs());
    if (plan_.task == Task::regression) {
        stream_->squared_error({.predictions = of.outputs,
                                .targets = targets,
                                .loss = plan_.loss,
                                .absolute = plan_.absolute,
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
                                 .loss = plan_.loss,
                                 .correct = plan_.correct,
                                 .gradient = of.gradient,
                                 .weight = plan_.task == Task::classification ? of.weight : weight_of_number,
                                 .write = of.write,
                                 .scale = of.scale,
                                 .weights = of.weights,
                                 .extent = extent,
                                 .class_weights = of.class_weights};
    plan_.task == Task::classification ? stream_->cross_entropy(arguments) : stream_->binary_cross_entropy(arguments);
}

Update Trainer::update_of(std::size_t index) const {
    const RateRun& run = plan_.runs[index];
    const auto row = static_cast<std::int64_t>(index);
    const Tensor& rounded = plan_.model->rounded_weights();
    return {.weights = plan_.weights.slice(run.first, 1, run.elements),
            .gradient = plan_.gradient.slice(run.first, 1, run.elements),
            .decayed = run.decayed,
            .learning_rates = plan_.learning_rates.slice(row * plan_.window, 1, plan_.window),
            .window_index = plan_.window_index,
            .weight_decay = plan_.weight_decay.at(row),
            .factor = plan_.factor,
            .alive = plan_.by_adamw,
            .valid = plan_.scaling.valid,
            .rounded = rounded && run.decayed > 0 ? rounded.slice(run.first, 1, run.decayed) : Tensor{}};
}

AdamW Trainer::adamw_of(std::size_t index) const {
    const RateRun& run = plan_.runs[index];
    const auto of = [&](const Tensor& block) { return block ? block.slice(run.first, 1, run.elements) : Tensor{}; };
    return {update_of(index), of(plan_.first_moment), of(plan_.second_moment), plan_.beta1,
            plan_.beta2,      plan_.epsilon,          plan_.iteration};
}

/// With updates in the backward pass the gradients of the weight matrices are not written. The roots take the end of
/// their place, in front of the other gradients, so that one norm counts both.
Tensor Trainer::roots() const {
    const std::int64_t parts = plan_.model->gradient_parts();
    return parts > 0 ? plan_.gradient.slice(plan_.model->block().decayed - parts, 1, parts) : Tensor{};
}

void Trainer::update(Optimizers used) {
    const auto from = [](const Tensor& block, std::int64_t first) {
        return block.slice(first, 1, block.columns - first);
    };
    const std::int64_t decayed = plan_.model->block().decayed;
    stream_->gradient_norm({used.in_backward ? from(plan_.gradient, decayed - roots().columns) : plan_.gradient,
                            plan_.clip, plan_.norm, plan_.factor, plan_.scaling});
    for (std::size_t run = 0; run < plan_.runs.size(); ++run) {
        if (plan_.runs[run].orthogonal) {
            update_orthogonally(*stream_, plan_, plan_.runs[run], update_of(run));
            continue;
        }
        AdamW adamw = adamw_of(run);
        Update other = adamw.update;
        const Tensor moment = adamw.first_moment;
        if (used.in_backward) {
            for (Tensor* block :
                 {&adamw.update.weights, &adamw.update.gradient, &adamw.first_moment, &adamw.second_moment})
                *block = from(*block, decayed);
            adamw.update.decayed = 0;
            adamw.update.rounded = {};
        }
        if (used.adamw) stream_->adamw(adamw);
        other.alive = plan_.by_sgd;
        if (used.sgd) stream_->sgd({other, moment, plan_.momentum, plan_.shared.nesterov});
        other.alive = plan_.by_lion;
        if (used.lion) stream_->lion({other, moment, plan_.beta1, plan_.beta2});
    }
    // After all updates, also those of the backward pass.
    if (plan_.average)
        stream_->average(
            {plan_.weights, plan_.average, plan_.iteration, plan_.alive, static_cast<float>(plan_.shared.ema)});
    stream_->advance(
        {plan_.iteration, plan_.alive, plan_.window_index, plan_.loss, plan_.norm, plan_.losses, plan_.norms});
}

/// Reads the losses and norms of the last `count` iterations from the tables.
void Trainer::read_window(std::int64_t count) {
    // Each copy waits for the device, so there are two for any number of replicas.
    const auto read_all = [this](const Tensor& table, std::vector<float>& values) {
        const Tensor all = table.all_replicas(replicas());
        stream_->read(all, 0, std::span(values).first(static_cast<std::size_t>(all.columns)));
    };
    read_all(plan_.losses, losses_);
    read_all(plan_.norms, norms_);
    const auto of_replica = [&](const std::vector<float>& all, const Tensor& table, int replica) {
        return std::span<const float>(all).subspan(first_of(table, replica), static_cast<std::size_t>(count));
    };
    for (int k = 0; k < replicas(); ++k) {
        Replica& replica = replicas_[index(k)];
        if (!replica.alive) continue;
        ReplicaProgress& progress = replica.progress;
        ReplicaStep& sums = progress.sums;
        const auto losses = of_replica(losses_, plan_.losses, k);
        const auto bad = std::find_if(losses.begin(), losses.end(), [](float loss) { return !std::isfinite(loss); });
        auto done = static_cast<std::int64_t>(bad - losses.begin());
        for (const float loss : losses.first(static_cast<std::size_t>(done))) {
            sums.loss += loss;
            progress.window.push(loss);
        }
        if (bad != losses.end()) {  // what follows depends on the size of the window, and is discarded
            sums.loss += *bad;
            progress.iteration += ++done - count;
            sums.diverged_at = progress.iteration - 1;
            deactivate(k);
        }
        for (const float norm : of_replica(norms_, plan_.norms, k).first(static_cast<std::size_t>(done))) {
            sums.norms.mean += norm;
            sums.norms.largest = std::max(sums.norms.largest, static_cast<double>(norm));
        }
        sums.learning_rate = replica.rate_scale * replica.schedule.at(progress.iteration - 1);
        progress.in_step += done;
    }
}

std::span<const BatchOrder> Trainer::batch_orders() {
    orders_.clear();
    for (int k = 0; k < replicas(); ++k) {
        const Replica& replica = replicas_[index(k)];
        orders_.push_back({replica.spec.seed, replica.spec.training.batch_size, fold_of(k).train,
                           replica.progress.iteration, replica.spec.fold});
    }
    return orders_;
}

bool Trainer::evaluate_validation(const ShouldContinue& should_continue) {
    const auto wanted = [&](int replica) { return at_end(replica) && replicas_[index(replica)].alive; };
    // Adjacent replicas with as many samples are evaluated together.
    for (int first = 0, end = 0; first < replicas(); first = std::max(end, first + 1)) {
        for (end = first; end < replicas() && wanted(end) && fold_of(end).validation == fold_of(first).validation;)
            ++end;
        if (end > first && !evaluate(data_.validation, fold_of(first).validation, first, end - first, should_continue))
            return false;
    }
    return true;
}

bool Trainer::evaluate_test(int replica, const ShouldContinue& should_continue) {
    return evaluate(data_.test, data_.test.count, replica, 1, should_continue);
}

template <class Label>
void Trainer::tally(const Tensor& logits, const Tensor& labels, int first, std::span<ClassTally> tallies) {
    constexpr std::int64_t at_once = std::int64_t{1} << 18;  // numbers
    const std::int64_t rows = std::max<std::int64_t>(1, at_once / logits.columns);
    const std::int64_t columns = labels.elements() / logits.rows;
    std::vector<float> numbers;
    std::vector<Label> its;
    for (std::int64_t from = 0; from < logits.rows; from += rows) {
        const std::int64_t here = std::min(rows, logits.rows - from);
        numbers.resize(static_cast<std::size_t>(here * logits.columns));
        its.resize(static_cast<std::size_t>(here * columns));
        for (std::size_t k = 0; k < tallies.size(); ++k) {
            const int replica = first + static_cast<int>(k);
            stream_->read(logits.slice(from * logits.columns, here, logits.columns), replica, std::span(numbers));
            stream_->read(labels.slice(from * columns, here, columns), replica, std::span(its));
            tallies[k].add(numbers, std::span<const Label>(its));
        }
    }
}

bool Trainer::evaluate(const Samples& samples, std::int64_t all, int first, int count,
                       const ShouldContinue& should_continue) {
    use_weights(plan_.evaluated());
    stream_->select_replicas(first, count);
    const std::int64_t targets_of_all = all * plan_.model->targets();
    std::vector<ClassTally> tallies;
    if (plan_.task != Task::regression && plan_.shared.class_metrics)
        tallies.assign(static_cast<std::size_t>(count), ClassTally(plan_.model->outputs(), plan_.ranks_classes));
    bool goes_on = true;
    if (feed_.stages()) {
        folds_.clear();
        for (int k = first; k < first + count; ++k) folds_.push_back(replicas_[index(k)].spec.fold);
        feed_.begin_rows(samples, all, folds_);
    }
    for (std::int64_t from = 0; from < all && (goes_on = should_continue()); from += plan_.rows) {
        const std::int64_t rows = std::min(plan_.rows, all - from);
        const Tensor input = plan_.input.first_rows(rows);
        const Tensor targets = plan_.targets.first_rows(rows);
        if (feed_.stages()) feed_.send_rows(samples, from, rows, first);
        stream_->gather(feed_.source(samples),
                        {.output = input, .targets = targets, .first = feed_.stages() ? 0 : from, .fold = plan_.fold});
        const Tensor outputs = plan_.model->forward(*stream_, plan_.evaluated(), input, nullptr);
        if (!tallies.empty())
            plan_.task == Task::classification ? tally<std::int32_t>(outputs, targets, first, tallies)
                                               : tally<float>(outputs, targets, first, tallies);
        compute_loss({.outputs = outputs,
                      .targets = targets,
                      .smoothing = plan_.no_smoothing,
                      .weight = 1.0F / static_cast<float>(targets_of_all),
                      .write = from == 0 ? Write::set : Write::add});
    }
    stream_->select_replicas(0, replicas());
    for (int k = first; goes_on && k < first + count; ++k) {
        Evaluation& evaluation = replicas_[index(k)].evaluation;
        evaluation.loss = stream_->read<float>(plan_.loss, k);
        if (plan_.task == Task::regression)
            evaluation.absolute = stream_->read<float>(plan_.absolute, k);
        else
            evaluation.accuracy =
                static_cast<double>(stream_->read<std::int32_t>(plan_.correct, k)) /
                static_cast<double>(targets_of_all * (plan_.task == Task::multi_label ? plan_.model->outputs() : 1));
        if (!tallies.empty()) evaluation.of_classes = tallies[index(k - first)].metrics();
    }
    return goes_on;
}

/// Reads a block of weights or moments in the layout of the replica's own model.
void Trainer::read_block(const Tensor& block, int replica, std::span<float> to) {
    if (plan_.fusion == Fusion::identical) return stream_->read(block, replica, to);
    stream_->read(block, replica, std::span(padded_));
    unpad_block(plan_.model->block(), padded_, replicas_[index(replica)].spec.model->block(), to);
}

void Trainer::write_block(const Tensor& block, int replica, std::span<const float> from) {
    if (plan_.fusion == Fusion::identical) return stream_->write(block, replica, from);
    pad_block(replicas_[index(replica)].spec.model->block(), from, plan_.model->block(), padded_);
    stream_->write(block, replica, std::span<const float>(padded_));
}

void Trainer::read_weights(int replica, std::span<float> to) { read_block(plan_.evaluated(), replica, to); }

void Trainer::write_weights(int replica, std::span<const float> from) {
    rounded_from_ = nullptr;
    write_block(plan_.evaluated(), replica, from);
}

/// Calls visit(tensor, its first element in the state, its elements) for each part of a replica's state.
template <class F>
void Trainer::each_state_tensor(int replica, F&& visit) const {
    const ReplicaSpec& spec = replicas_[index(replica)].spec;
    const auto size = static_cast<std::size_t>(spec.model->block().elements);
    visit(plan_.weights, std::size_t{0}, size);
    visit(plan_.first_moment, size, size);
    std::size_t first = 2 * size;
    if (has_two_moments(spec.training.optimizer)) {
        visit(plan_.second_moment, first, size);
        first += size;
    }
    if (plan_.average) {
        visit(plan_.average, first, size);
        first += size;
    }
    if (!plan_.scaling.scale) return;
    visit(plan_.scaling.scale, first, std::size_t{1});
    visit(plan_.scaling.good, first + 1, std::size_t{1});
}

void Trainer::read_state(int replica, std::span<float> to) {
    each_state_tensor(replica, [&](const Tensor& tensor, std::size_t first, std::size_t size) {
        const auto part = to.subspan(first, size);
        size > 1 ? read_block(tensor, replica, part) : stream_->read(tensor, replica, part);
    });
}

}  // namespace hpo
