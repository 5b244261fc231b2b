#include "worker/prediction/predictor.hpp"

#include <algorithm>

namespace hpo {
namespace {

constexpr std::int64_t most_rows = 256;          // of a batch
constexpr std::int64_t most_target_rows = 4096;  // of a batch of sequences, one for each step

std::int64_t batch_rows(const SavedModel& saved) {
    return std::clamp(most_target_rows / std::max<std::int64_t>(1, saved.shape.steps()), std::int64_t{1}, most_rows);
}

}  // namespace

Predictor::Predictor(Device& device, const SavedModel& saved) : saved_(saved), rows_(batch_rows(saved)) {
    if (!saved_.trees) open_network(device);
}

void Predictor::open_network(Device& device) {
    Model& model = *saved_.model;
    Layout layout(1);
    weights_ = layout.add(Type::f32, 1, model.block().elements);
    model.plan(layout, {.rows = rows_, .part_bytes = device.part_bytes(), .batch = rows_});
    input_ = layout.add(Type::f32, rows_, model.features());
    auto arena = device.allocate(layout.bytes());
    if (!arena) throw DeviceFull(arena.error().message);
    arena_ = *std::move(arena);
    stream_ = device.stream(*arena_, 1);
    stream_->select_replicas(0, 1);
    stream_->write(weights_, 0, std::span<const float>(saved_.weights));
    model.write_constants(*stream_);
}

std::span<const float> Predictor::outputs(std::span<const float> features) {
    if (saved_.trees) {
        const std::size_t count = features.size() / static_cast<std::size_t>(saved_.trees->features);
        outputs_.resize(count * saved_.trees->base.size());
        saved_.trees->predict(features, outputs_);
        return outputs_;
    }
    const std::int64_t count = static_cast<std::int64_t>(features.size()) / input_.columns;
    const float scale = 1 / saved_.deviation, shift = -saved_.mean / saved_.deviation;  // as in training
    scaled_.assign(features.begin(), features.end());
    if (scale != 1 || shift != 0)
        for (float& number : scaled_) number = number * scale + shift;
    const Tensor input = input_.first_rows(count);
    stream_->write(input, 0, std::span<const float>(scaled_));
    const Tensor computed = saved_.model->forward(*stream_, weights_, input, nullptr);
    outputs_.resize(static_cast<std::size_t>(computed.elements()));
    stream_->read(computed, 0, std::span(outputs_));
    return outputs_;
}

}  // namespace hpo
