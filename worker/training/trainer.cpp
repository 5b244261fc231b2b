#include "worker/training/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace hpo {

Trainer::Trainer(Device& device, Buffer& arena, GroupPlan plan, const DeviceData& data, std::span<const LaneSpec> lanes,
                 std::int64_t steps, const Clock& clock)
    : plan_(std::move(plan)),
      data_(data),
      clock_(clock),
      arena_(arena),
      stream_(device.stream(arena, plan_.lanes)),
      rates_(static_cast<std::size_t>(plan_.learning_rates.all_lanes(plan_.lanes).columns)),
      losses_(rates_.size()),
      norms_(rates_.size()),
      slots_(static_cast<std::size_t>(plan_.lanes)) {
    assert(arena.bytes() >= plan_.arena_bytes);
    assert(data.staged() == static_cast<bool>(plan_.staged));
    if (plan_.kind == Lanes::padded)
        for (auto* block : {&padded_, &own_}) block->resize(static_cast<std::size_t>(plan_.weights.columns));
    if (plan_.staged) stage_ = stream_->stage(plan_.staged.all_lanes(plan_.lanes).bytes());
    lanes_.reserve(index(plan_.lanes));
    for (const LaneSpec& spec : lanes) begin(this->lanes(), spec, steps);
}

void Trainer::begin(int lane, const LaneSpec& spec, std::int64_t steps) {
    place(lane, spec, steps, {});
    stream_->set_lanes(lane, 1);
    initialise(lane);
    stream_->fill(plan_.first_moment, 0);
    if (plan_.second_moment) stream_->fill(plan_.second_moment, 0);
    if (plan_.scaling.scale) {
        stream_->fill(plan_.scaling.scale, LossScale::first);
        stream_->fill(plan_.scaling.good, 0);
    }
    stream_->fill(plan_.gradient, 0);
    stream_->set_lanes(0, lanes());
}

void Trainer::resume(int lane, const LaneSpec& spec, std::int64_t steps, std::span<const float> state,
                     const LaneProgress& progress) {
    place(lane, spec, steps, progress);
    each_state_tensor(lane, [&](const Tensor& tensor, std::size_t first, std::size_t size) {
        const auto part = state.subspan(first, size);
        size > 1 ? write_block(tensor, lane, part) : stream_->write(tensor, lane, part);
    });
    stream_->set_lanes(lane, 1);
    stream_->fill(plan_.gradient, 0);
    stream_->set_lanes(0, lanes());
}

/// All that a lane is besides its state.
void Trainer::place(int lane, const LaneSpec& spec, std::int64_t steps, const LaneProgress& progress) {
    assert(lane <= lanes() && lane < plan_.lanes);
    assert(spec.training.batch_size <= plan_.shared.batch_size);
    if (lane == lanes()) lanes_.emplace_back();
    Lane& it = lanes_[index(lane)] = {};
    it.spec = spec;
    if (!it.spec.model) it.spec.model = plan_.model.get();
    it.pace = pace_of(spec.training, data_.train.count);
    it.schedule = make_schedule(spec.training, steps * it.pace.iterations_per_step, it.pace.iterations_per_epoch);
    it.progress = progress;
    write_lane_arrays(lane);
}

/// A padded lane's weights are drawn where its gradient will be, as its own model places them.
void Trainer::initialise(int lane) {
    if (plan_.kind == Lanes::alike) return plan_.model->initialise(*stream_, plan_.weights, plan_.seed);
    const Model& own = *lanes_[index(lane)].spec.model;
    const Tensor drawn = plan_.gradient.slice(0, 1, own.block().elements);
    own.initialise(*stream_, drawn, plan_.seed);
    const auto weights = std::span(own_).first(static_cast<std::size_t>(drawn.columns));
    stream_->read(drawn, lane, weights);
    pad_block(own.block(), weights, plan_.model->block(), padded_);
    stream_->write(plan_.weights, lane, std::span<const float>(padded_));
}

void Trainer::leave(int lane) {
    assert(lane < lanes() && lanes() > 1);
    const int last = lanes() - 1;
    if (lane < last) {
        stream_->set_lanes(0, 1);
        const auto& scaling = plan_.scaling;
        for (const Tensor& tensor :
             {plan_.weights, plan_.first_moment, plan_.second_moment, scaling.scale, scaling.good})
            if (tensor) stream_->copy(tensor.lane(last), tensor.lane(lane));
        std::swap(lanes_[index(lane)], lanes_[index(last)]);
        write_lane_arrays(lane);
    }
    lanes_.pop_back();
    stream_->set_lanes(0, lanes());
}

void Trainer::drop(int lane) {
    lanes_[index(lane)].alive = false;
    for (const Tensor* flag : {&plan_.alive, &plan_.by_adamw, &plan_.by_sgd})
        stream_->write(*flag, lane, std::uint8_t{0});
}

void Trainer::write_lane_arrays(int lane) {
    const LaneSpec& spec = lanes_[index(lane)].spec;
    const auto number = [&](const Tensor& to, double value) { stream_->write(to, lane, static_cast<float>(value)); };
    number(plan_.weight_decay, spec.training.weight_decay);
    number(plan_.dropout, spec.training.dropout);
    number(plan_.smoothing, spec.training.label_smoothing);
    number(plan_.no_smoothing, 0);
    number(plan_.clip, spec.training.clip);
    number(plan_.beta1, spec.training.beta1);
    number(plan_.beta2, spec.training.beta2);
    number(plan_.epsilon, spec.training.epsilon);
    number(plan_.momentum, spec.training.momentum);
    const std::int64_t batch = spec.training.batch_size;
    number(plan_.sample_weight, 1.0F / static_cast<float>(batch));
    const auto whole = [&](const Tensor& to, std::int64_t value) {
        stream_->write(to, lane, static_cast<std::uint32_t>(value));
    };
    whole(plan_.batch, batch);
    whole(plan_.batch_rows, plan_.micro_batch_of(batch));
    whole(plan_.iteration, lanes_[index(lane)].progress.iteration);
    stream_->write(plan_.seed, lane, spec.seed);
    const auto flag = [&](const Tensor& to, bool value) { stream_->write(to, lane, static_cast<std::uint8_t>(value)); };
    const bool alive = lanes_[index(lane)].alive;
    flag(plan_.alive, alive);
    flag(plan_.by_adamw, alive && spec.training.optimizer == OptimizerKind::adamw);
    flag(plan_.by_sgd, alive && spec.training.optimizer == OptimizerKind::sgd);
    if (plan_.kind == Lanes::padded) plan_.model->adopt(*stream_, lane, *spec.model);
}

bool Trainer::train_step(const GoOn& go_on) {
    while (const std::int64_t count = iterations_ahead()) {
        const Seconds begin = clock_.now();
        prepare_window(count);
        for (std::int64_t i = 0; i < count; ++i) {
            if (!go_on()) return false;
            if (stage_) stage_batch();
            const Optimizers used = optimizers();  // `go_on` may have dropped lanes
            const auto name = static_cast<std::uint64_t>((used.adamw ? 1 : 0) + (used.sgd ? 2 : 0));
            stream_->repeat(name, [this, used] { iterate(used); });
            for (Lane& lane : lanes_)
                if (lane.alive) ++lane.progress.iteration;
        }
        look_at_window(count);
        const double seconds = (clock_.now() - begin).count();
        for (Lane& lane : lanes_) lane.progress.seconds += seconds;
        if (end_steps()) break;
    }
    return true;
}

/// Of the next window: until it is full, or a lane is at the end of its step. 0: no lane lives.
std::int64_t Trainer::iterations_ahead() const {
    std::int64_t count = 0;
    for (const Lane& lane : lanes_) {
        if (!lane.alive) continue;
        const std::int64_t left = lane.pace.iterations_per_step - lane.progress.in_step;
        count = std::min(count > 0 ? count : plan_.window, left);
    }
    return count;
}

Trainer::Optimizers Trainer::optimizers() const {
    Optimizers used;
    for (const Lane& lane : lanes_)
        if (lane.alive) (lane.spec.training.optimizer == OptimizerKind::adamw ? used.adamw : used.sgd) = true;
    return used;
}

/// Of lanes that have done their iterations, or died. Whether there were any.
bool Trainer::end_steps() {
    bool any = false;
    for (Lane& lane : lanes_) {
        LaneProgress& progress = lane.progress;
        const bool over = progress.sums.diverged_at >= 0 || progress.in_step == lane.pace.iterations_per_step;
        if (progress.in_step == 0 || !over) continue;
        any = true;
        lane.step = progress.sums;
        lane.step.loss /= static_cast<double>(progress.in_step);
        lane.step.norms.mean /= static_cast<double>(progress.in_step);
        lane.step_seconds = progress.seconds;
        progress.in_step = 0;
        progress.sums = {};
        progress.seconds = 0;
    }
    return any;
}

/// Uploads the rates of the next `count` iterations of all lanes: two copies for any number of them.
void Trainer::prepare_window(std::int64_t count) {
    for (int k = 0; k < lanes(); ++k) {
        const Lane& lane = lanes_[index(k)];
        const std::size_t first = first_of(plan_.learning_rates, k);
        for (std::int64_t i = 0; i < count; ++i)
            rates_[first + static_cast<std::size_t>(i)] =
                static_cast<float>(lane.schedule.at(lane.progress.iteration + i));
    }
    const auto write_all = [this](const Tensor& table, const auto& values) {
        const Tensor all = table.all_lanes(lanes());
        stream_->write(all, 0, std::span(values).first(static_cast<std::size_t>(all.columns)));
    };
    write_all(plan_.learning_rates, rates_);
    write_all(plan_.slot, slots_);
}

/// One update of every lane: with these optimizers the same operations each time.
void Trainer::iterate(Optimizers used) {
    Training training{plan_.dropout, plan_.seed, plan_.iteration, {plan_.batch, plan_.batch_rows, 0}};
    for (std::uint32_t& pass = training.pass.index; pass < plan_.passes; ++pass) {
        const std::int64_t rows = std::min(plan_.micro_batch, plan_.shared.batch_size - pass * plan_.micro_batch);
        const Tensor input = plan_.input.first_rows(rows);
        const Tensor labels = plan_.labels.first_rows(rows);
        const Write write = pass == 0 ? Write::set : Write::add;
        stream_->gather(source(data_.train), {.output = input,
                                              .labels = labels,
                                              .pass = training.pass,
                                              .seed = plan_.seed,
                                              .iteration = plan_.iteration,
                                              .augment = plan_.augment});
        const Tensor logits = plan_.model->forward(*stream_, plan_.weights, input, &training);
        CrossEntropy loss;
        loss.logits = logits;
        loss.labels = labels;
        loss.smoothing = plan_.smoothing;
        loss.loss = plan_.loss;
        loss.correct = plan_.correct;
        loss.gradient = logits;
        loss.write = write;
        loss.scale = plan_.scaling.scale;
        loss.weights = plan_.sample_weight;
        loss.pass = training.pass;
        stream_->cross_entropy(loss);
        plan_.model->backward(*stream_, plan_.weights, plan_.gradient, input, logits, training, write);
    }
    update(used);
}

void Trainer::update(Optimizers used) {
    stream_->gradient_norm({plan_.gradient, plan_.clip, plan_.norm, plan_.factor, plan_.scaling});
    Update update{.weights = plan_.weights,
                  .gradient = plan_.gradient,
                  .decayed = plan_.model->block().decayed,
                  .learning_rates = plan_.learning_rates,
                  .slot = plan_.slot,
                  .weight_decay = plan_.weight_decay,
                  .factor = plan_.factor,
                  .alive = plan_.by_adamw,
                  .valid = plan_.scaling.valid};
    if (used.adamw)
        stream_->adamw({update, plan_.first_moment, plan_.second_moment, plan_.beta1, plan_.beta2, plan_.epsilon,
                        plan_.iteration});
    update.alive = plan_.by_sgd;
    if (used.sgd) stream_->sgd({update, plan_.first_moment, plan_.momentum, plan_.shared.nesterov});
    stream_->advance({plan_.iteration, plan_.alive, plan_.slot, plan_.loss, plan_.norm, plan_.losses, plan_.norms});
}

/// Reads what the last `count` iterations left in the tables.
void Trainer::look_at_window(std::int64_t count) {
    // Two copies for any number of lanes: each waits for the device.
    const auto read_all = [this](const Tensor& table, std::vector<float>& values) {
        const Tensor all = table.all_lanes(lanes());
        stream_->read(all, 0, std::span(values).first(static_cast<std::size_t>(all.columns)));
    };
    read_all(plan_.losses, losses_);
    read_all(plan_.norms, norms_);
    const auto of_lane = [&](const std::vector<float>& all, const Tensor& table, int lane) {
        return std::span<const float>(all).subspan(first_of(table, lane), static_cast<std::size_t>(count));
    };
    for (int k = 0; k < lanes(); ++k) {
        Lane& lane = lanes_[index(k)];
        if (!lane.alive) continue;
        LaneProgress& progress = lane.progress;
        LaneStep& sums = progress.sums;
        const auto losses = of_lane(losses_, plan_.losses, k);
        const auto bad = std::find_if(losses.begin(), losses.end(), [](float loss) { return !std::isfinite(loss); });
        auto done = static_cast<std::int64_t>(bad - losses.begin());
        for (const float loss : losses.first(static_cast<std::size_t>(done))) {
            sums.loss += loss;
            progress.window.push(loss);
        }
        if (bad != losses.end()) {  // what came after it depends on how often the host looks
            sums.loss += *bad;
            progress.iteration += ++done - count;
            sums.diverged_at = progress.iteration - 1;
            drop(k);
        }
        for (const float norm : of_lane(norms_, plan_.norms, k).first(static_cast<std::size_t>(done))) {
            sums.norms.mean += norm;
            sums.norms.largest = std::max(sums.norms.largest, static_cast<double>(norm));
        }
        sums.learning_rate = lane.schedule.at(progress.iteration - 1);
        progress.in_step += done;
    }
}

/// What a pass gathers from: the samples, or what of them has been staged.
Samples Trainer::source(const Samples& samples) const {
    if (!stage_) return samples;
    Samples staged{&arena_, plan_.staged_features, plan_.staged_labels, {}, plan_.staged_features.rows};
    staged.scale = samples.scale;
    staged.shift = samples.shift;
    staged.staged = true;
    return staged;
}

/// Puts a sample where row `row` of a lane's part has its place.
void Trainer::put(const Samples& from, std::int64_t sample, std::span<std::byte> part, std::int64_t row) const {
    const std::byte* data = static_cast<const HostBuffer*>(from.buffer)->data();
    std::int64_t place = sample;
    if (from.rows) {
        std::int32_t listed = 0;
        std::memcpy(&listed, data + from.rows.offset + 4 * sample, 4);
        place = listed;
    }
    const auto bytes = static_cast<std::size_t>(data_.shape.row_bytes());
    const auto at = static_cast<std::size_t>(place), to = static_cast<std::size_t>(row);
    const std::size_t labels = plan_.staged_labels.offset - plan_.staged.offset;
    std::memcpy(&part[to * bytes], data + from.features.offset + at * bytes, bytes);
    std::memcpy(&part[labels + 4 * to], data + from.labels.offset + 4 * at, 4);
}

/// The next batch of every lane, in the order that devices compute (Gather).
void Trainer::stage_batch() {
    const std::span<std::byte> host = stage_->next();
    for (int k = 0; k < lanes(); ++k) {
        const Lane& lane = lanes_[index(k)];
        const std::int64_t batch = lane.spec.training.batch_size;
        const std::int64_t iteration = lane.progress.iteration, epoch = lane.pace.iterations_per_epoch;
        const std::int64_t first = iteration % epoch * batch;
        const EpochOrder order(lane.spec.seed, static_cast<std::uint64_t>(iteration / epoch),
                               static_cast<std::uint32_t>(data_.train.count));
        const auto part = host.subspan(index(k) * plan_.staged.lane_stride, plan_.staged.bytes());
        for (std::int64_t i = 0; i < batch; ++i)
            put(data_.train, order.at(static_cast<std::uint32_t>(first + i)), part, i);
    }
    stage_->send(plan_.staged.all_lanes(lanes()));
}

/// The same rows for each of these lanes.
void Trainer::stage_rows(const Samples& samples, std::int64_t from, std::int64_t rows, int first, int count) {
    const std::span<std::byte> host = stage_->next();
    for (int k = 0; k < count; ++k) {
        const auto part = host.subspan(index(k) * plan_.staged.lane_stride, plan_.staged.bytes());
        for (std::int64_t i = 0; i < rows; ++i) put(samples, from + i, part, i);
    }
    stage_->send(plan_.staged.lane(first).all_lanes(count));
}

bool Trainer::evaluate_validation(const GoOn& go_on) {
    const auto wanted = [&](int lane) { return at_end(lane) && lanes_[index(lane)].alive; };
    // Neighbours at once.
    for (int first = 0, end = 0; first < lanes(); first = end + 1) {
        for (end = first; end < lanes() && wanted(end);) ++end;
        if (end > first && !evaluate(data_.validation, first, end - first, go_on)) return false;
    }
    return true;
}

bool Trainer::evaluate_test(int lane, const GoOn& go_on) { return evaluate(data_.test, lane, 1, go_on); }

bool Trainer::evaluate(const Samples& samples, int first, int count, const GoOn& go_on) {
    stream_->set_lanes(first, count);
    const std::int64_t all = samples.count;
    bool goes_on = true;
    for (std::int64_t from = 0; from < all && (goes_on = go_on()); from += plan_.rows) {
        const std::int64_t rows = std::min(plan_.rows, all - from);
        const Tensor input = plan_.input.first_rows(rows);
        const Tensor labels = plan_.labels.first_rows(rows);
        if (stage_) stage_rows(samples, from, rows, first, count);
        stream_->gather(source(samples), {.output = input, .labels = labels, .first = stage_ ? 0 : from});
        CrossEntropy loss;
        loss.logits = plan_.model->forward(*stream_, plan_.weights, input, nullptr);
        loss.labels = labels;
        loss.smoothing = plan_.no_smoothing;
        loss.loss = plan_.loss;
        loss.correct = plan_.correct;
        loss.weight = 1.0F / static_cast<float>(all);
        loss.write = from == 0 ? Write::set : Write::add;
        stream_->cross_entropy(loss);
    }
    stream_->set_lanes(0, lanes());
    for (int k = first; goes_on && k < first + count; ++k) {
        Evaluation& evaluation = lanes_[index(k)].evaluation;
        evaluation.loss = stream_->read<float>(plan_.loss, k);
        evaluation.accuracy =
            static_cast<double>(stream_->read<std::int32_t>(plan_.correct, k)) / static_cast<double>(all);
    }
    return goes_on;
}

/// A block of weights or moments as the lane's own model places it.
void Trainer::read_block(const Tensor& block, int lane, std::span<float> to) {
    if (plan_.kind == Lanes::alike) return stream_->read(block, lane, to);
    stream_->read(block, lane, std::span(padded_));
    unpad_block(plan_.model->block(), padded_, lanes_[index(lane)].spec.model->block(), to);
}

void Trainer::write_block(const Tensor& block, int lane, std::span<const float> from) {
    if (plan_.kind == Lanes::alike) return stream_->write(block, lane, from);
    pad_block(lanes_[index(lane)].spec.model->block(), from, plan_.model->block(), padded_);
    stream_->write(block, lane, std::span<const float>(padded_));
}

void Trainer::read_weights(int lane, std::span<float> to) { read_block(plan_.weights, lane, to); }

void Trainer::write_weights(int lane, std::span<const float> from) { write_block(plan_.weights, lane, from); }

/// Calls visit(block or number, its first element in the state, elements).
template <class F>
void Trainer::each_state_tensor(int lane, F&& visit) const {
    const LaneSpec& spec = lanes_[index(lane)].spec;
    const auto size = static_cast<std::size_t>(spec.model->block().elements);
    visit(plan_.weights, std::size_t{0}, size);
    visit(plan_.first_moment, size, size);
    std::size_t first = 2 * size;
    if (spec.training.optimizer == OptimizerKind::adamw) {
        visit(plan_.second_moment, first, size);
        first += size;
    }
    if (!plan_.scaling.scale) return;
    visit(plan_.scaling.scale, first, std::size_t{1});
    visit(plan_.scaling.good, first + 1, std::size_t{1});
}

void Trainer::read_state(int lane, std::span<float> to) {
    each_state_tensor(lane, [&](const Tensor& tensor, std::size_t first, std::size_t size) {
        const auto part = to.subspan(first, size);
        size > 1 ? read_block(tensor, lane, part) : stream_->read(tensor, lane, part);
    });
}

}  // namespace hpo
