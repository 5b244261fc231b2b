#include "worker/models/batch_norms.hpp"

#include <algorithm>

namespace hpo {

std::int64_t ghost_batch_of(std::int64_t batch, std::int64_t wanted) {
    for (std::int64_t count = (batch + wanted - 1) / wanted; count > 1; --count) {
        const std::int64_t samples = (batch + count - 1) / count;
        const std::int64_t last = batch - (ghost_batches(batch, samples) - 1) * samples;
        if (last > 1 && 2 * last >= samples) return samples;
    }
    return batch;
}

std::string BatchNorms::remark() const {
    const std::int64_t count = ghost_batches(batch_, ghost_), last = batch_ - (count - 1) * ghost_;
    std::string text = "batch norm: a batch of " + std::to_string(batch_) + " samples is normalised ";
    if (count == 1) return text + "as a whole";
    text += "in " + std::to_string(count) + " ghost batches of " + std::to_string(ghost_);
    return last == ghost_ ? text : text + ", the last of " + std::to_string(last);
}

BatchNormLayer BatchNorms::add_layer(const std::string& name, std::int64_t columns, std::int64_t rows_per_sample,
                                     std::vector<Parameter>& parameters) const {
    const auto add = [&](const char* suffix, float constant, bool trained) {
        const Place place = trained ? Place::vector : Place::fixed;
        parameters.push_back({name + suffix, {columns}, 0, false, 0, constant, place, columns, trained});
        return static_cast<int>(parameters.size()) - 1;
    };
    BatchNormLayer layer;
    layer.scale = add(".weight", 1, true);
    layer.shift = add(".bias", 0, true);
    layer.running_mean = add(".running_mean", 0, false);
    layer.running_variance = add(".running_var", 1, false);
    layer.rows_per_sample = rows_per_sample;
    return layer;
}

void BatchNorms::plan_layer(Layout& layout, const ModelPlan& plan, std::int64_t columns, BatchNormLayer& layer) {
    batch_ = plan.batch;
    ghost_ = ghost_batch(plan.batch);
    // Rows of micro-batches of training, which may be smaller than those of evaluations.
    const std::int64_t rows = std::min(plan.rows, plan.batch) * layer.rows_per_sample;
    const std::int64_t ghost = ghost_ * layer.rows_per_sample;
    for (Tensor* statistic : {&layer.mean, &layer.rstd})
        *statistic = layout.add(Type::f32, ghost_batches(rows, ghost), columns);
    most_parts_ = std::max(most_parts_, batch_norm_parts(rows, ghost) * 2 * columns);
}

void BatchNorms::plan_workspace(Layout& layout) { parts_ = layout.add(Type::f32, 1, most_parts_); }

namespace {

Tensor parameter_of(const ParameterBlock& block, int index, const Tensor& values) {
    return block.parameters[static_cast<std::size_t>(index)].in(values);
}

}  // namespace

void BatchNorms::forward(Stream& stream, const BatchNormLayer& layer, const ParameterBlock& block,
                         const Tensor& weights, const Tensor& input, const Tensor& output,
                         const Training* training) const {
    BatchNorm norm{.input = input,
                   .scale = parameter_of(block, layer.scale, weights),
                   .shift = parameter_of(block, layer.shift, weights),
                   .output = output,
                   .running_mean = parameter_of(block, layer.running_mean, weights),
                   .running_variance = parameter_of(block, layer.running_variance, weights)};
    if (training) {
        norm.ghost = ghost_ * layer.rows_per_sample;
        norm.batch = batch_ * layer.rows_per_sample;
        const std::int64_t ghosts = ghost_batches(input.rows, norm.ghost);
        norm.mean = layer.mean.first_rows(ghosts);
        norm.rstd = layer.rstd.first_rows(ghosts);
        norm.iteration = training->iteration;
        norm.parts = parts_;
        norm.write = training->extent.micro_batch == 0 ? Write::set : Write::add;
    }
    stream.enqueue(norm);
}

void BatchNorms::backward(Stream& stream, const BatchNormLayer& layer, const ParameterBlock& block,
                          const Tensor& weights, const Tensor& gradients, const Tensor& input, const Tensor& gradient,
                          Write write) const {
    const std::int64_t ghost = ghost_ * layer.rows_per_sample, ghosts = ghost_batches(input.rows, ghost);
    stream.enqueue(BatchNormBackward{.ghost = ghost,
                                     .gradient = gradient,
                                     .input = input,
                                     .mean = layer.mean.first_rows(ghosts),
                                     .rstd = layer.rstd.first_rows(ghosts),
                                     .scale = parameter_of(block, layer.scale, weights),
                                     .scale_gradient = parameter_of(block, layer.scale, gradients),
                                     .shift_gradient = parameter_of(block, layer.shift, gradients),
                                     .parts = parts_,
                                     .write = write});
}

}  // namespace hpo
