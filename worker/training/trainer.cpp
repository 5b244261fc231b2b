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
    if (plan_.staged) stage_ = stream_->stage(plan_.staged.all_lanes(plan_.lanes).bytes());
    lanes_.reserve(index(plan_.lanes));
    for (const LaneSpec& spec : lanes) begin(this->lanes(), spec, steps);
}

void Trainer::begin(int lane, const LaneSpec& spec, std::int64_t steps) {
    assert(lane <= lanes() && lane < plan_.lanes);
    if (lane == lanes()) lanes_.emplace_back();
    Lane& place = lanes_[index(lane)] = {};
    place.spec = spec;
    place.schedule = make_schedule(spec.training, steps * plan_.iterations_per_step, plan_.iterations_per_epoch);
    stream_->set_lanes(lanes());
    write_lane_arrays(lane);
    // Its own tensors alone: the others train.
    stream_->set_lanes(1);
    plan_.model->initialise(*stream_, plan_.weights.lane(lane), plan_.seed.lane(lane));
    stream_->fill(plan_.gradient.lane(lane), 0);
    stream_->fill(plan_.first_moment.lane(lane), 0);
    if (plan_.second_moment) stream_->fill(plan_.second_moment.lane(lane), 0);
    if (plan_.scaling.scale) {
        stream_->fill(plan_.scaling.scale.lane(lane), LossScale::first);
        stream_->fill(plan_.scaling.good.lane(lane), 0);
    }
    stream_->set_lanes(lanes());
}

void Trainer::leave(int lane) {
    assert(lane < lanes() && lanes() > 1);
    const int last = lanes() - 1;
    if (lane < last) {
        stream_->set_lanes(1);
        each_state_tensor([&](const Tensor& tensor, std::size_t, std::size_t) {
            stream_->copy(tensor.lane(last), tensor.lane(lane));
        });
        stream_->set_lanes(lanes());
        std::swap(lanes_[index(lane)], lanes_[index(last)]);
        write_lane_arrays(lane);
    }
    lanes_.pop_back();
    stream_->set_lanes(lanes());
}

void Trainer::drop(int lane) {
    lanes_[index(lane)].alive = false;
    stream_->write(plan_.alive, lane, std::uint8_t{0});
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
    stream_->write(plan_.seed, lane, spec.seed);
    stream_->write(plan_.iteration, lane, static_cast<std::uint32_t>(lanes_[index(lane)].iteration));
    stream_->write(plan_.alive, lane, static_cast<std::uint8_t>(lanes_[index(lane)].alive));
}

bool Trainer::train_step(const GoOn& go_on) {
    const Seconds begin = clock_.now();
    for (Lane& lane : lanes_) lane.step = {};
    step_iterations_ = 0;
    while (step_iterations_ < plan_.iterations_per_step) {
        const std::int64_t count = std::min(plan_.window, plan_.iterations_per_step - step_iterations_);
        prepare_window(count);
        for (std::int64_t i = 0; i < count; ++i) {
            if (!go_on()) return false;
            if (stage_) stage_batch();
            stream_->repeat(0, [this] { iterate(); });
            for (Lane& lane : lanes_) ++lane.iteration;
        }
        look_at_window(count);
        if (std::none_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.alive; })) break;
    }
    for (Lane& lane : lanes_) {
        lane.step.loss /= static_cast<double>(step_iterations_);
        lane.step.norms.mean /= static_cast<double>(step_iterations_);
    }
    step_seconds_ = (clock_.now() - begin).count();
    return true;
}

/// Uploads the rates of the next `count` iterations of all lanes: two copies for any number of them.
void Trainer::prepare_window(std::int64_t count) {
    for (int k = 0; k < lanes(); ++k) {
        const Lane& lane = lanes_[index(k)];
        const std::size_t first = first_of(plan_.learning_rates, k);
        for (std::int64_t i = 0; i < count; ++i)
            rates_[first + static_cast<std::size_t>(i)] = static_cast<float>(lane.schedule.at(lane.iteration + i));
    }
    const auto write_all = [this](const Tensor& table, const auto& values) {
        const Tensor all = table.all_lanes(lanes());
        stream_->write(all, 0, std::span(values).first(static_cast<std::size_t>(all.columns)));
    };
    write_all(plan_.learning_rates, rates_);
    write_all(plan_.slot, slots_);
}

/// One update of every lane, the same operations each time.
void Trainer::iterate() {
    const std::int64_t batch = plan_.shared.batch_size;
    Training training{plan_.dropout, plan_.seed, plan_.iteration, 0};
    for (std::int64_t done = 0; done < batch; done += plan_.micro_batch) {
        const std::int64_t rows = std::min(plan_.micro_batch, batch - done);
        const Tensor input = plan_.input.first_rows(rows);
        const Tensor labels = plan_.labels.first_rows(rows);
        const Write write = done == 0 ? Write::set : Write::add;
        training.first_row = done;
        stream_->gather(source(data_.train), {input, labels, done, plan_.seed, plan_.iteration, batch, plan_.augment});
        const Tensor logits = plan_.model->forward(*stream_, plan_.weights, input, &training);
        CrossEntropy loss;
        loss.logits = logits;
        loss.labels = labels;
        loss.smoothing = plan_.smoothing;
        loss.loss = plan_.loss;
        loss.correct = plan_.correct;
        loss.gradient = logits;
        loss.weight = 1.0F / static_cast<float>(batch);
        loss.write = write;
        loss.scale = plan_.scaling.scale;
        stream_->cross_entropy(loss);
        plan_.model->backward(*stream_, plan_.weights, plan_.gradient, input, logits, training, write);
    }
    update();
}

void Trainer::update() {
    stream_->gradient_norm({plan_.gradient, plan_.clip, plan_.norm, plan_.factor, plan_.scaling});
    const Update update{.weights = plan_.weights,
                        .gradient = plan_.gradient,
                        .decayed = plan_.model->block().decayed,
                        .learning_rates = plan_.learning_rates,
                        .slot = plan_.slot,
                        .weight_decay = plan_.weight_decay,
                        .factor = plan_.factor,
                        .alive = plan_.alive,
                        .valid = plan_.scaling.valid};
    if (plan_.shared.optimizer == OptimizerKind::adamw)
        stream_->adamw({update, plan_.first_moment, plan_.second_moment, plan_.beta1, plan_.beta2, plan_.epsilon,
                        plan_.iteration});
    else
        stream_->sgd({update, plan_.first_moment, plan_.momentum, plan_.shared.nesterov});
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
        const auto losses = of_lane(losses_, plan_.losses, k);
        for (std::size_t i = 0; i < losses.size(); ++i) {
            lane.step.loss += losses[i];
            if (std::isfinite(losses[i])) {
                lane.window.push(losses[i]);
            } else if (lane.step.diverged_at < 0) {
                lane.step.diverged_at = lane.iteration - count + static_cast<std::int64_t>(i);
                drop(k);
            }
        }
        for (const float norm : of_lane(norms_, plan_.norms, k)) {
            lane.step.norms.mean += norm;
            lane.step.norms.largest = std::max(lane.step.norms.largest, static_cast<double>(norm));
        }
        lane.step.learning_rate = lane.schedule.at(lane.iteration - 1);
    }
    step_iterations_ += count;
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
    const std::int64_t batch = plan_.shared.batch_size;
    const std::span<std::byte> host = stage_->next();
    for (int k = 0; k < lanes(); ++k) {
        const Lane& lane = lanes_[index(k)];
        const std::int64_t first = lane.iteration % plan_.iterations_per_epoch * batch;
        const EpochOrder order(lane.spec.seed, static_cast<std::uint64_t>(lane.iteration / plan_.iterations_per_epoch),
                               static_cast<std::uint32_t>(data_.train.count));
        const auto part = host.subspan(index(k) * plan_.staged.lane_stride, plan_.staged.bytes());
        for (std::int64_t i = 0; i < batch; ++i)
            put(data_.train, order.at(static_cast<std::uint32_t>(first + i)), part, i);
    }
    stage_->send(plan_.staged.all_lanes(lanes()));
}

/// The same rows for every lane.
void Trainer::stage_rows(const Samples& samples, std::int64_t first, std::int64_t count) {
    const std::span<std::byte> host = stage_->next();
    for (int k = 0; k < lanes(); ++k) {
        const auto part = host.subspan(index(k) * plan_.staged.lane_stride, plan_.staged.bytes());
        for (std::int64_t i = 0; i < count; ++i) put(samples, first + i, part, i);
    }
    stage_->send(plan_.staged.all_lanes(lanes()));
}

bool Trainer::evaluate_validation(const GoOn& go_on) { return evaluate(data_.validation, go_on); }

bool Trainer::evaluate_test(const GoOn& go_on) { return evaluate(data_.test, go_on); }

bool Trainer::evaluate(const Samples& samples, const GoOn& go_on) {
    const std::int64_t count = samples.count;
    for (std::int64_t first = 0; first < count; first += plan_.rows) {
        if (!go_on()) return false;
        const std::int64_t size = std::min(plan_.rows, count - first);
        const Tensor input = plan_.input.first_rows(size);
        const Tensor labels = plan_.labels.first_rows(size);
        if (stage_) stage_rows(samples, first, size);
        stream_->gather(source(samples), {.output = input, .labels = labels, .first = stage_ ? 0 : first});
        CrossEntropy loss;
        loss.logits = plan_.model->forward(*stream_, plan_.weights, input, nullptr);
        loss.labels = labels;
        loss.smoothing = plan_.no_smoothing;
        loss.loss = plan_.loss;
        loss.correct = plan_.correct;
        loss.weight = 1.0F / static_cast<float>(count);
        loss.write = first == 0 ? Write::set : Write::add;
        stream_->cross_entropy(loss);
    }
    for (int k = 0; k < lanes(); ++k) {
        Evaluation& evaluation = lanes_[index(k)].evaluation;
        evaluation.loss = stream_->read<float>(plan_.loss, k);
        evaluation.accuracy =
            static_cast<double>(stream_->read<std::int32_t>(plan_.correct, k)) / static_cast<double>(count);
    }
    return true;
}

void Trainer::read_weights(int lane, std::span<float> to) { stream_->read(plan_.weights, lane, to); }

void Trainer::write_weights(int lane, std::span<const float> from) { stream_->write(plan_.weights, lane, from); }

template <class F>
void Trainer::each_state_tensor(F&& visit) const {
    const auto size = static_cast<std::size_t>(plan_.weights.columns);
    visit(plan_.weights, std::size_t{0}, size);
    visit(plan_.first_moment, size, size);
    std::size_t first = 2 * size;
    if (plan_.second_moment) {
        visit(plan_.second_moment, first, size);
        first += size;
    }
    if (!plan_.scaling.scale) return;
    visit(plan_.scaling.scale, first, std::size_t{1});
    visit(plan_.scaling.good, first + 1, std::size_t{1});
}

void Trainer::read_state(int lane, std::span<float> to) {
    each_state_tensor([&](const Tensor& tensor, std::size_t first, std::size_t size) {
        stream_->read(tensor, lane, to.subspan(first, size));
    });
}

void Trainer::restore(int lane, std::span<const float> state, const LossWindow& window, std::int64_t iteration) {
    each_state_tensor([&](const Tensor& tensor, std::size_t first, std::size_t size) {
        stream_->write(tensor, lane, state.subspan(first, size));
    });
    stream_->write(plan_.iteration, lane, static_cast<std::uint32_t>(iteration));
    lanes_[index(lane)].window = window;
    lanes_[index(lane)].iteration = iteration;
}

}  // namespace hpo
