#include "worker/models/transformer.hpp"

#include <algorithm>
#include <cmath>

namespace hpo {
namespace {

constexpr double deviation_of_tables = 0.02;

/// The bound of a uniform distribution with this deviation.
float bound_for(double deviation) { return static_cast<float>(std::sqrt(3.0) * deviation); }

}  // namespace

float TransformerShape::score_scale() const {
    if (base_width == 0) return 0;
    const double base_head = static_cast<double>(base_width) / static_cast<double>(heads);
    return static_cast<float>(std::sqrt(base_head) / static_cast<double>(head_width()));
}

Transformer::Transformer(const TransformerShape& shape, std::int64_t outputs, std::int64_t targets)
    : Model({shape.vocabulary > 0 ? shape.steps : shape.steps * shape.features, outputs, targets}), shape_(shape) {
    std::vector<Parameter> parameters;
    const auto add = [&](Parameter parameter) {
        parameters.push_back(std::move(parameter));
        return static_cast<int>(parameters.size()) - 1;
    };
    const std::int64_t width = shape.width;
    const auto matrix = [&](const std::string& name, std::int64_t rows, std::int64_t columns, double deviation,
                            Place place) {
        return add({name, {rows, columns}, 0, true, bound_for(deviation), 0, place, width});
    };
    const auto vector = [&](const std::string& name, float constant) {
        return add({name, {width}, 0, false, 0, constant, Place::vector, width});
    };
    const auto by_inputs = [](std::int64_t inputs) { return 1 / std::sqrt(static_cast<double>(inputs)); };
    const auto norm = [&](const std::string& name) {
        Norm made;
        made.scale = vector(name + ".weight", 1);
        if (!shape.rms) made.shift = vector(name + ".bias", 0);
        return made;
    };
    const bool learned = shape.positions == TransformerShape::Positions::learned;
    if (shape.vocabulary > 0) {
        entry_ = matrix("tokens.weight", shape.vocabulary, width, deviation_of_tables, Place::input);
    } else {
        entry_ = matrix("input.weight", width, shape.features, by_inputs(shape.features), Place::input);
        if (!learned) entry_bias_ = vector("input.bias", 0);
    }
    if (learned) positions_ = matrix("positions.weight", shape.steps, width, deviation_of_tables, Place::input);
    const double at_the_end = 1 / std::sqrt(2.0 * static_cast<double>(std::max<std::int64_t>(1, shape.depth)));
    const auto hidden = [&](const std::string& name, std::int64_t rows, std::int64_t columns, double deviation,
                            std::vector<std::int64_t> stacked = {}) {
        const int made = matrix(name, rows, columns, deviation, Place::hidden);
        parameters.back().stacked = std::move(stacked);
        return made;
    };
    const std::int64_t keys = shape.kv_heads * shape.head_width();
    for (std::int64_t i = 0; i < shape.depth; ++i) {
        const std::string name = "blocks." + std::to_string(i) + ".";
        Block block;
        block.before_attention = norm(name + "attention_norm");
        block.projections_weight =
            hidden(name + "projections.weight", shape.projection(), width, by_inputs(width), {width, keys, keys});
        block.mixing_weight = hidden(name + "mixing.weight", width, width, by_inputs(width) * at_the_end);
        block.before_perceptron = norm(name + "perceptron_norm");
        block.up_weight =
            hidden(name + "up.weight", shape.gated ? 2 * shape.hidden : shape.hidden, width, by_inputs(width),
                   shape.gated ? std::vector{shape.hidden, shape.hidden} : std::vector<std::int64_t>{});
        block.down_weight = hidden(name + "down.weight", width, shape.hidden, by_inputs(shape.hidden) * at_the_end);
        blocks_.push_back(block);
    }
    last_ = norm("norm");
    if (shape.tied) {
        head_ = entry_;
    } else {
        head_ = add(
            {"head.weight", {outputs, width}, 0, true, static_cast<float>(by_inputs(width)), 0, Place::output, width});
        head_bias_ = add({"head.bias", {outputs}, 0, false, 0, 0});
    }
    block_ = place_parameters(std::move(parameters), shape.base_width);
}

void Transformer::set_replica_model(Stream&, int, const Model&) const {}  // the models of a bucket are equal

Tensor Transformer::parameter(int index, const Tensor& block) const {
    return index < 0 || !block ? Tensor{} : block_.parameters[static_cast<std::size_t>(index)].in(block);
}

Tensor Transformer::rows_of(const Tensor& tensor, const Pass& pass) const {
    return tensor.first_rows(pass.samples * shape_.steps);
}

const Tensor& Transformer::input_of(std::size_t block) const {
    return block > 0 ? blocks_[block - 1].output : entered_;
}

Dropout Transformer::dropout(const Pass& pass, std::size_t site, const Tensor& mask) const {
    if (!pass.training) return {};
    Dropout made{.probability = pass.training->dropout,
                 .seed = pass.training->seed,
                 .iteration = pass.training->iteration,
                 .mask = rows_of(mask, pass),
                 .site = static_cast<std::uint32_t>(site),
                 .extent = pass.training->extent};
    made.extent.rows_per_sample = static_cast<std::uint32_t>(shape_.steps);
    return made;
}

Attention Transformer::attention(const Pass& pass, const Block& block) const {
    return {.steps = shape_.steps,
            .heads = shape_.heads,
            .kv_heads = shape_.kv_heads,
            .causal = shape_.causal,
            .scale = shape_.score_scale(),
            .projections = rows_of(block.projections, pass),
            .output = rows_of(block.attended, pass),
            .log_sums = rows_of(block.log_sums, pass)};
}

void Transformer::normalise(const Pass& pass, const Norm& norm, const Tensor& input) const {
    pass.stream.enqueue(LayerNorm{.input = rows_of(input, pass),
                                  .scale = parameter(norm.scale, pass.weights),
                                  .shift = parameter(norm.shift, pass.weights),
                                  .output = rows_of(norm.output, pass),
                                  .mean = rows_of(norm.mean, pass),
                                  .rstd = rows_of(norm.rstd, pass),
                                  .centred = !shape_.rms});
}

void Transformer::normalise_backward(const Pass& pass, const Norm& norm, const Tensor& input, const Tensor& gradient,
                                     const Tensor& to) const {
    pass.stream.enqueue(LayerNormBackward{.gradient = gradient,
                                          .input = rows_of(input, pass),
                                          .mean = rows_of(norm.mean, pass),
                                          .rstd = rows_of(norm.rstd, pass),
                                          .scale = parameter(norm.scale, pass.weights),
                                          .scale_gradient = parameter(norm.scale, pass.gradients),
                                          .shift_gradient = parameter(norm.shift, pass.gradients),
                                          .write = pass.write,
                                          .centred = !shape_.rms,
                                          .skipped_gradient = to});
}

void Transformer::multiply(const Pass& pass, const Tensor& input, int index, const Tensor& output) const {
    pass.stream.enqueue(
        Linear{operand(pass.stream, input, rounded_input_), operand(index, pass.weights), output, precision_});
}

void Transformer::multiply_backward(const Pass& pass, const Tensor& output_gradient, const Tensor& input, int index,
                                    const Tensor& input_gradient) const {
    pass.stream.enqueue(LinearBackward{.output_gradient = operand(pass.stream, output_gradient, rounded_gradient_),
                                       .input = operand(pass.stream, input, rounded_input_),
                                       .weight = operand(index, pass.weights),
                                       .weight_gradient = parameter(index, pass.gradients),
                                       .input_gradient = input_gradient,
                                       .write = pass.write,
                                       .precision = precision_});
}

void Transformer::enter(const Pass& pass, const Tensor& input) const {
    const Tensor entered = rows_of(entered_, pass);
    Stream& stream = pass.stream;
    if (shape_.vocabulary > 0)
        stream.enqueue(Embed{input, parameter(entry_, pass.weights), entered});
    else
        multiply(pass, input.slice(0, entered.rows, shape_.features), entry_, entered);
    if (positions_ >= 0) {  // a bias of all steps
        const Tensor by_sample = entered.slice(0, pass.samples, shape_.steps * shape_.width);
        stream.enqueue(Activate{.pre = by_sample,
                                .bias = parameter(positions_, pass.weights).slice(0, 1, by_sample.columns),
                                .output = by_sample});
    }
    if (pass.training || entry_bias_ >= 0)
        stream.enqueue(Activate{.pre = entered,
                                .bias = parameter(entry_bias_, pass.weights),
                                .output = entered,
                                .dropout = dropout(pass, 0, entry_mask_)});
}

void Transformer::run(const Pass& pass, std::size_t index, bool again) const {
    const Block& block = blocks_[index];
    Stream& stream = pass.stream;
    const Tensor input = rows_of(input_of(index), pass), middle = rows_of(block.middle, pass),
                 output = rows_of(block.output, pass);
    normalise(pass, block.before_attention, input);
    multiply(pass, rows_of(block.before_attention.output, pass), block.projections_weight,
             rows_of(block.projections, pass));
    const Attention attended = attention(pass, block);
    if (shape_.positions == TransformerShape::Positions::rotary)
        stream.enqueue(Rotate{.steps = shape_.steps,
                              .heads = shape_.heads + shape_.kv_heads,
                              .width = shape_.head_width(),
                              .values = attended.projections});
    stream.enqueue(attended);
    multiply(pass, attended.output, block.mixing_weight, middle);
    stream.enqueue(Activate{
        .pre = middle, .output = middle, .dropout = dropout(pass, 2 * index + 1, block.mask), .skipped = input});
    normalise(pass, block.before_perceptron, middle);
    const Tensor hidden = rows_of(block.hidden, pass), active = rows_of(block.active, pass);
    multiply(pass, rows_of(block.before_perceptron.output, pass), block.up_weight, hidden);
    if (shape_.gated)
        stream.enqueue(Gate{hidden, active});
    else
        stream.enqueue(Activate{.activation = shape_.activation, .pre = hidden, .output = active});
    if (again) return;
    multiply(pass, active, block.down_weight, output);
    stream.enqueue(Activate{.pre = output,
                            .output = output,
                            .dropout = dropout(pass, 2 * index + 2, block.second_mask),
                            .skipped = middle});
}

Tensor Transformer::forward(Stream& stream, const Tensor& weights, const Tensor& input, const Training* training) {
    const Pass pass{stream, weights, input.rows, training};
    enter(pass, input);
    for (std::size_t i = 0; i < blocks_.size(); ++i) run(pass, i);
    normalise(pass, last_, input_of(blocks_.size()));
    Tensor features = rows_of(last_.output, pass);
    if (pooled_) {
        stream.enqueue(MeanPixels{features, pooled_.first_rows(input.rows)});
        features = pooled_.first_rows(input.rows);
    }
    const Tensor outputs = outputs_.first_rows(features.rows);
    multiply(pass, features, head_, outputs);
    if (head_bias_ >= 0)
        stream.enqueue(Activate{.pre = outputs, .bias = parameter(head_bias_, weights), .output = outputs});
    return outputs;
}

void Transformer::run_backward(const Pass& pass, std::size_t index) const {
    const Block& block = blocks_[index];
    if (!block.kept && index != last_not_kept_) run(pass, index, true);
    Stream& stream = pass.stream;
    const Tensor gradient = rows_of(gradient_, pass), branch = rows_of(branch_gradient_, pass);
    const auto wide = [&](const Tensor& like) { return wide_gradient_.slice(0, gradient.rows, like.columns); };
    const Tensor of_hidden = wide(block.hidden), of_projections = wide(block.projections);
    stream.enqueue(ActivateBackward{
        .gradient = branch, .dropout = dropout(pass, 2 * index + 2, block.second_mask), .incoming = gradient});
    const Tensor of_active = shape_.gated ? rows_of(active_gradient_, pass) : of_hidden;
    multiply_backward(pass, branch, rows_of(block.active, pass), block.down_weight, of_active);
    if (shape_.gated)
        stream.enqueue(GateBackward{rows_of(block.hidden, pass), of_active, of_hidden});
    else
        stream.enqueue(ActivateBackward{.activation = shape_.activation,
                                        .gradient = of_hidden,
                                        .pre = rows_of(block.hidden, pass),
                                        .output = rows_of(block.active, pass)});
    multiply_backward(pass, of_hidden, rows_of(block.before_perceptron.output, pass), block.up_weight, branch);
    normalise_backward(pass, block.before_perceptron, block.middle, branch, gradient);

    stream.enqueue(ActivateBackward{
        .gradient = branch, .dropout = dropout(pass, 2 * index + 1, block.mask), .incoming = gradient});
    const Attention attended = attention(pass, block);
    // The gradient of the norm's output is not needed yet.
    const Tensor of_attended = rows_of(block.before_perceptron.output, pass);
    multiply_backward(pass, branch, attended.output, block.mixing_weight, of_attended);
    stream.enqueue(AttentionBackward{.forward = attended,
                                     .gradient = of_attended,
                                     .deltas = rows_of(deltas_, pass),
                                     .of_projections = of_projections});
    if (shape_.positions == TransformerShape::Positions::rotary)
        stream.enqueue(Rotate{.steps = shape_.steps,
                              .heads = shape_.heads + shape_.kv_heads,
                              .width = shape_.head_width(),
                              .values = of_projections,
                              .back = true});
    multiply_backward(pass, of_projections, rows_of(block.before_attention.output, pass), block.projections_weight,
                      branch);
    normalise_backward(pass, block.before_attention, input_of(index), branch, gradient);
}

void Transformer::enter_backward(const Pass& pass, const Tensor& input) const {
    const Tensor gradient = rows_of(gradient_, pass);
    Stream& stream = pass.stream;
    stream.enqueue(ActivateBackward{.gradient = gradient,
                                    .bias_gradient = parameter(entry_bias_, pass.gradients),
                                    .dropout = dropout(pass, 0, entry_mask_),
                                    .write = pass.write});
    if (positions_ >= 0) {
        const Tensor by_sample = gradient.slice(0, pass.samples, shape_.steps * shape_.width);
        stream.enqueue(
            ActivateBackward{.gradient = by_sample,
                             .bias_gradient = parameter(positions_, pass.gradients).slice(0, 1, by_sample.columns),
                             .write = pass.write});
    }
    if (shape_.vocabulary > 0)
        stream.enqueue(
            EmbedBackward{input, gradient, parameter(entry_, pass.gradients), shape_.tied ? Write::add : pass.write});
    else
        multiply_backward(pass, gradient, input.slice(0, gradient.rows, shape_.features), entry_, {});
}

void Transformer::backward(Stream& stream, const Tensor& weights, const Tensor& gradients, const Tensor& input,
                           const Tensor& output_gradient, const Training& training, Write write) {
    const Pass pass{stream, weights, input.rows, &training, gradients, write};
    if (head_bias_ >= 0)
        stream.enqueue(ActivateBackward{
            .gradient = output_gradient, .bias_gradient = parameter(head_bias_, gradients), .write = write});
    const Tensor branch = rows_of(branch_gradient_, pass), gradient = rows_of(gradient_, pass);
    if (pooled_) {
        const Tensor pooled_gradient = pooled_gradient_.first_rows(input.rows);
        multiply_backward(pass, output_gradient, pooled_.first_rows(input.rows), head_, pooled_gradient);
        stream.enqueue(MeanPixelsBackward{pooled_gradient, branch});
    } else {
        multiply_backward(pass, output_gradient, rows_of(last_.output, pass), head_, branch);
    }
    stream.enqueue(Fill{gradient, 0});
    normalise_backward(pass, last_, input_of(blocks_.size()), branch, gradient);
    for (std::size_t i = blocks_.size(); i-- > 0;) run_backward(pass, i);
    enter_backward(pass, input);
}

}  // namespace hpo
