#include "worker/training/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "worker/training/task_loss.hpp"
#include "worker/training/updates.hpp"

namespace hpo {

Trainer::Trainer(Device& device, Buffer& arena, GroupPlan plan, const DeviceData& data,
                 std::span<const ReplicaSpec> replicas, std::int64_t steps, const Clock& clock, Communicator* ranks)
    : plan_(std::move(plan)),
      data_(data),
      clock_(clock),
      arena_(arena),
      stream_(device.stream(arena, plan_.replicas)),
      window_(plan_.pace.first_window),
      state_(*stream_, plan_, data),
      feed_(device, *stream_, arena, plan_, data, clock),
      evaluator_(*stream_, plan_, feed_),
      micro_batches_(micro_batches_of(ranks)),
      sums_(ranks ? std::make_unique<RankSums>(*ranks, *stream_, plan_, clock) : nullptr),
      rates_(static_cast<std::size_t>(plan_.arena.learning_rates.all_replicas(plan_.replicas).columns)),
      losses_(rates_.size()),
      norms_(rates_.size()),
      first_window_indices_(static_cast<std::size_t>(plan_.replicas)) {
    assert(arena.bytes() >= plan_.arena.bytes);
    plan_.model->write_constants(*stream_);
    replicas_.reserve(index(plan_.replicas));
    for (const ReplicaSpec& spec : replicas) begin(this->replicas(), spec, steps);
}

void Trainer::begin(int replica, const ReplicaSpec& spec, std::int64_t steps) {
    set_up(replica, spec, steps, {});
    state_.initialise(replica, replicas_[index(replica)]);
    stream_->select_replicas(0, replicas());
}

void Trainer::resume(int replica, const ReplicaSpec& spec, std::int64_t steps, std::span<const float> state,
                     const ReplicaProgress& progress) {
    set_up(replica, spec, steps, progress);
    state_.write(replica, replicas_[index(replica)], state);
    stream_->select_replicas(0, replicas());
}

/// Sets up a replica except for its state.
void Trainer::set_up(int replica, const ReplicaSpec& spec, std::int64_t steps, const ReplicaProgress& progress) {
    rounded_from_ = nullptr;
    assert(replica <= replicas() && replica < plan_.replicas);
    assert(spec.training.batch_size <= plan_.shared.batch_size);
    feed_.restart();
    if (sums_) (void)sums_->take_seconds();  // of an earlier trial, whose last step was not asked for them
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
    state_.write_numbers(replica, it);
}

void Trainer::adopt(const Trainer& other) {
    assert(replicas_.empty() && other.replicas() <= plan_.replicas);
    rounded_from_ = nullptr;
    replicas_ = other.replicas_;
    stream_->select_replicas(0, replicas());
    state_.copy_from(other.arena_, other.plan_);
    for (int k = 0; k < replicas(); ++k) {
        Replica& replica = replicas_[index(k)];
        if (replica.spec.model == other.plan_.model.get()) replica.spec.model = plan_.model.get();
        state_.write_numbers(k, replica);
    }
    stream_->synchronise();
}

void Trainer::remove(int replica) {
    assert(replica < replicas() && replicas() > 1);
    feed_.restart();
    const int last = replicas() - 1;
    if (replica < last) {
        rounded_from_ = nullptr;
        state_.copy(last, replica);
        std::swap(replicas_[index(replica)], replicas_[index(last)]);
        state_.write_numbers(replica, replicas_[index(replica)]);
    }
    replicas_.pop_back();
    stream_->select_replicas(0, replicas());
}

void Trainer::deactivate(int replica) {
    replicas_[index(replica)].alive = false;
    state_.write_end(replica);
}

/// Makes the model read its weights from `block`. In precisions of 16 bits they are rounded, unless the updates did
/// that.
void Trainer::use_weights(const Tensor& block) {
    const Tensor& rounded = plan_.model->rounded_weights();
    if (!rounded || rounded_from_ == &block) return;
    rounded_from_ = &block;
    stream_->select_replicas(0, replicas());
    stream_->enqueue(Round{block.slice(0, 1, rounded.columns), rounded});
}

bool Trainer::train_step(const ShouldContinue& should_continue) {
    use_weights(plan_.arena.weights);
    for (;;) {
        // The ranks' trainers may have lived through different numbers of trials, and each has measured its own
        // windows.
        if (sums_) sums_->follow_lead(window_);
        const std::int64_t count = iterations_ahead();
        if (count == 0) return true;
        const Seconds begin = clock_.now();
        prepare_window(count);
        for (std::int64_t i = 0; i < count; ++i) {
            const bool goes_on = should_continue();
            if (!goes_on && !sums_) return false;
            if (feed_.stages()) feed_.send_batches(batch_orders());
            const Optimizers used =
                optimizers_of(replicas_, plan_, *stream_);  // `should_continue` may have deactivated replicas
            // The roots lie between gradients, whose padding is to be 0 again.
            if (std::exchange(in_backward_, used.in_backward) && !used.in_backward)
                stream_->enqueue(Fill{plan_.arena.gradient, 0});
            const std::uint64_t operations = 16 * std::uint64_t{feed_.place()} + used.number();
            if (!sums_) {
                stream_->repeat(operations, [this, used] {
                    compute_gradients(used);
                    update_weights(*stream_, plan_, used);
                });
            } else {
                constexpr std::uint64_t of_update = 1 << 16;
                sums_->begin_update();
                stream_->repeat(operations, [this, used] { compute_gradients(used); });
                if (sums_->add_up(replicas(), !goes_on)) return false;
                stream_->repeat(of_update + operations, [this, used] { update_weights(*stream_, plan_, used); });
            }
            for (Replica& replica : replicas_)
                if (replica.alive) ++replica.progress.iteration;
        }
        read_window(count);
        const Seconds took = clock_.now() - begin;
        for (Replica& replica : replicas_) replica.progress.seconds += took.count();
        feed_.took(count, took);
        if (count >= window_) window_ = next_window(window_, took, plan_.pace.window);
        if (end_steps()) return true;
    }
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
        std::size_t first = first_of(plan_.arena.learning_rates, k);
        for (const double factor : replica.rate_factors) {
            const double scale = factor * replica.rate_scale;
            for (std::int64_t i = 0; i < count; ++i)
                rates_[first + static_cast<std::size_t>(i)] =
                    static_cast<float>(scale * replica.schedule.at(replica.progress.iteration + i));
            first += static_cast<std::size_t>(plan_.pace.window);
        }
    }
    const auto write_all = [this](const Tensor& table, const auto& values) {
        const Tensor all = table.all_replicas(replicas());
        stream_->write(all, 0, std::span(values).first(static_cast<std::size_t>(all.columns)));
    };
    write_all(plan_.arena.learning_rates, rates_);
    write_all(plan_.numbers.window_index, first_window_indices_);
}

/// The gradients of one update of every replica, in this rank's micro-batches. With the same optimizers an update
/// consists of the same operations each time.
void Trainer::compute_gradients(Optimizers used) {
    Training training{plan_.numbers.dropout,
                      plan_.numbers.seed,
                      plan_.numbers.iteration,
                      {plan_.numbers.batch, plan_.numbers.batch_rows, 0}};
    const UpdateInBackward in_backward = update_in_backward(plan_);
    if (used.in_backward) training.update = &in_backward;
    std::uint32_t& index = training.extent.micro_batch;
    for (index = micro_batches_.first; index < plan_.pace.micro_batches; index += micro_batches_.every) {
        const std::int64_t rows =
            std::min(plan_.pace.micro_batch, plan_.shared.batch_size - index * plan_.pace.micro_batch);
        const Tensor input = plan_.arena.input.first_rows(rows);
        const Tensor targets = plan_.arena.targets.first_rows(rows);
        const Write write = index == micro_batches_.first ? Write::set : Write::add;
        stream_->enqueue(Gather{.samples = feed_.source(data_.train),
                                .output = input,
                                .targets = targets,
                                .extent = training.extent,
                                .seed = plan_.numbers.seed,
                                .iteration = plan_.numbers.iteration,
                                .augment = plan_.augment,
                                .fold = plan_.numbers.fold});
        const Tensor outputs = plan_.model->forward(*stream_, plan_.arena.weights, input, &training);
        compute_loss(*stream_, plan_,
                     {.outputs = outputs,
                      .targets = targets,
                      .gradient = outputs,
                      .smoothing = plan_.numbers.smoothing,
                      .scale = plan_.numbers.scaling.scale,
                      .weights = plan_.numbers.target_weight,
                      .class_weights = plan_.arena.class_weights,
                      .write = write,
                      .extent = training.extent});
        plan_.model->backward(*stream_, plan_.arena.weights, plan_.arena.gradient, input, outputs, training, write);
    }
}

/// Reads the losses and norms of the last `count` iterations from the tables.
void Trainer::read_window(std::int64_t count) {
    // Each copy waits for the device, so there are two for any number of replicas.
    const auto read_all = [this](const Tensor& table, std::vector<float>& values) {
        const Tensor all = table.all_replicas(replicas());
        stream_->read(all, 0, std::span(values).first(static_cast<std::size_t>(all.columns)));
    };
    read_all(plan_.arena.losses, losses_);
    read_all(plan_.arena.norms, norms_);
    const auto of_replica = [&](const std::vector<float>& all, const Tensor& table, int replica) {
        return std::span<const float>(all).subspan(first_of(table, replica), static_cast<std::size_t>(count));
    };
    for (int k = 0; k < replicas(); ++k) {
        Replica& replica = replicas_[index(k)];
        if (!replica.alive) continue;
        ReplicaProgress& progress = replica.progress;
        ReplicaStep& sums = progress.sums;
        const auto losses = of_replica(losses_, plan_.arena.losses, k);
        const auto bad = std::find_if(losses.begin(), losses.end(), [](float loss) { return !std::isfinite(loss); });
        auto done = static_cast<std::int64_t>(bad - losses.begin());
        for (const float loss : losses.first(static_cast<std::size_t>(done))) {
            sums.loss += loss;
            progress.window.push(loss);
        }
        if (bad != losses.end()) {  // later losses depend on the size of the window, and are discarded
            sums.loss += *bad;
            progress.iteration += ++done - count;
            sums.diverged_at = progress.iteration - 1;
            deactivate(k);
        }
        for (const float norm : of_replica(norms_, plan_.arena.norms, k).first(static_cast<std::size_t>(done))) {
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
    // Adjacent replicas with the same number of validation samples are evaluated together.
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

bool Trainer::evaluate(const Samples& samples, std::int64_t all, int first, int count,
                       const ShouldContinue& should_continue) {
    use_weights(plan_.arena.evaluated());
    const bool evaluated = evaluator_.evaluate(
        samples, all, first, std::span(replicas_).subspan(index(first), index(count)), should_continue);
    stream_->select_replicas(0, replicas());
    return evaluated;
}

void Trainer::read_weights(int replica, std::span<float> to) {
    state_.read_weights(replica, replicas_[index(replica)], to);
}

void Trainer::write_weights(int replica, std::span<const float> from) {
    rounded_from_ = nullptr;
    state_.write_weights(replica, replicas_[index(replica)], from);
}

void Trainer::read_state(int replica, std::span<float> to) { state_.read(replica, replicas_[index(replica)], to); }

}  // namespace hpo
