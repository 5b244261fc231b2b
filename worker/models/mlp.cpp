#include "worker/models/mlp.hpp"

#include <algorithm>
#include <cmath>

#include "worker/models/settings.hpp"

namespace hpo {
namespace {

// The bound for a deviation of 0.02, as tables of tokens have. Larger deviations were measured to learn slower: an
// embedding should not begin with much that it has to forget.
constexpr float embedding_bound = 0.0346410162F;

}  // namespace

Mlp::Mlp(MlpShape hidden, const ModelShape& shape)
    : Model(shape), shape_(std::move(hidden)), batch_norms_(shape_.ghost_batch) {
    std::vector<Parameter> parameters;
    const auto add = [&](Parameter parameter) {
        parameters.push_back(std::move(parameter));
        return static_cast<int>(parameters.size()) - 1;
    };
    std::int64_t inputs = shape.features / shape.targets;
    if (shape_.embedding_width > 0)
        for (const CategoryShape& column : shape_.categories) {
            const std::int64_t width = shape_.width_of(column.levels);
            const std::string name = "embeddings." + std::to_string(embeddings_.size()) + ".weight";
            embeddings_.push_back({column, width, add({name, {column.levels, width}, 0, true, embedding_bound, 0})});
            inputs += width - column.levels;
        }
    const std::size_t last = shape_.hidden.size();
    for (std::size_t i = 0; i <= last; ++i) {
        Layer layer;
        layer.hidden = i < last;
        layer.inputs = inputs;
        layer.outputs = layer.hidden ? shape_.hidden[i] : shape.outputs;
        const std::string prefix = "layers." + std::to_string(i) + ".";
        const auto bound = std::sqrt((layer.hidden ? 6.0 : 1.0) / static_cast<double>(inputs));
        const Place place = last == 0      ? Place::fixed
                            : i == 0       ? Place::input
                            : layer.hidden ? Place::hidden
                                           : Place::output;
        layer.weight = add({prefix + "weight",
                            {layer.outputs, inputs},
                            0,
                            true,
                            static_cast<float>(bound),
                            0,
                            place,
                            place == Place::input ? layer.outputs : inputs});
        const auto add_vector = [&](const char* name, float constant) {
            return add({prefix + name,
                        {layer.outputs},
                        0,
                        false,
                        0,
                        constant,
                        layer.hidden ? Place::vector : Place::fixed,
                        layer.outputs});
        };
        if (layer.hidden && batch_norms_)
            layer.batch_norm = batch_norms_.add_layer(prefix + "norm", layer.outputs, shape.targets, parameters);
        else
            layer.bias = add_vector("bias", 0);
        if (layer.hidden && shape_.layer_norm) {
            layer.norm_scale = add_vector("norm.weight", 1);
            layer.norm_shift = add_vector("norm.bias", 0);
        }
        inputs = layer.outputs;
        layers_.push_back(layer);
    }
    block_ = place_parameters(std::move(parameters), shape_.base_width);
}

double Mlp::forward_flops() const {
    double sum = 0;
    for (const auto& layer : layers_) sum += 2.0 * static_cast<double>(layer.inputs * layer.outputs);
    return sum * static_cast<double>(targets());
}

double Mlp::backward_flops() const {
    const auto& first = layers_.front();  // its input needs no gradient, unless it has embeddings
    if (!embeddings_.empty()) return 2 * forward_flops();
    return 2 * forward_flops() - 2.0 * static_cast<double>(first.inputs * first.outputs * targets());
}

std::int64_t Mlp::gradient_parts() const {
    if (!embeddings_.empty()) return 0;  // they are subject to decay, and are no products
    std::int64_t parts = 0;
    for (const Layer& layer : layers_) parts += hpo::gradient_parts(layer.outputs, layer.inputs);
    return parts;
}

void Mlp::plan(Layout& layout, const ModelPlan& plan) {
    const std::int64_t rows = plan.rows * targets();
    precision_ = plan.precision;
    const Type operand = operand_type(precision_);
    const bool padded = plan.fusion == Fusion::padded;
    const bool relu = shape_.activation == Activation::relu;
    assert(!padded || !relu);
    if (padded) activations_ = layout.add_per_replica(Type::u32);
    std::int64_t widest = 0;
    std::int64_t most_outputs = 0;
    for (auto& layer : layers_) {
        most_outputs = std::max(most_outputs, layer.outputs);
        const auto matrix = [&] { return layout.add(Type::f32, rows, layer.outputs); };
        layer.linear = layer.normed = layer.output = matrix();
        if (!layer.hidden) continue;
        widest = std::max(widest, layer.outputs);
        if (shape_.layer_norm) {
            layer.normed = layer.output = matrix();
            layer.mean = layout.add(Type::f32, rows, 1);
            layer.rstd = layout.add(Type::f32, rows, 1);
            if (padded) layer.valid_outputs = layout.add_per_replica(Type::u32);
        }
        if (batch_norms_) {
            layer.normed = layer.output = matrix();
            batch_norms_.plan_layer(layout, plan, layer.outputs, layer.batch_norm);
        }
        if (relu && !rounds()) continue;  // relu works in place
        layer.output = layout.add(operand, rows, layer.outputs);
        if (!relu) layer.mask = layout.add(Type::u8, rows, layer.outputs);  // its output tells which were dropped
    }
    if (!embeddings_.empty()) {
        const std::int64_t inputs = layers_.front().inputs;
        columns_ = layout.add_shared(Type::i32, inputs, 4);
        embedded_ = layout.add(Type::f32, rows, inputs);
        if (rounds()) rounded_embedded_ = layout.add(operand, rows, inputs);
        widest = std::max(widest, inputs);
    }
    if (batch_norms_ && layers_.size() > 1) batch_norms_.plan_workspace(layout);
    plan_rounded_weights(layout, precision_);
    if (rounds()) rounded_gradient_ = layout.add(operand, rows, most_outputs);
    if (widest == 0) return;
    for (auto& gradient : gradient_) gradient = layout.add(Type::f32, rows, widest);
}

void Mlp::write_constants(Stream& stream) const {
    if (embeddings_.empty()) return;
    std::vector<std::int32_t> entries;
    const auto add = [&](std::int64_t feature, std::int64_t levels, std::int64_t weight, std::int64_t width) {
        for (const std::int64_t number : {feature, levels, weight, width})
            entries.push_back(static_cast<std::int32_t>(number));
    };
    auto next = embeddings_.begin();
    for (std::int64_t feature = 0; feature < features();) {
        if (next == embeddings_.end() || feature < next->column.first) {
            add(feature++, 0, 0, 0);
            continue;
        }
        const std::int64_t weight = block_.parameters[static_cast<std::size_t>(next->weight)].first;
        for (std::int64_t i = 0; i < next->width; ++i) add(feature, next->column.levels, weight + i, next->width);
        feature += next++->column.levels;
    }
    stream.write(columns_, 0, std::span<const std::int32_t>(entries));
}

std::int64_t Mlp::indivisible(std::int64_t batch) const { return batch_norms_ ? batch_norms_.ghost_batch(batch) : 1; }

std::vector<std::string> Mlp::remarks() const {
    std::vector<std::string> lines;
    if (batch_norms_ && layers_.size() > 1) lines.push_back(batch_norms_.remark());
    if (embeddings_.empty()) return lines;
    std::int64_t levels = 0, width = 0, widest = 0;
    for (const Embedding& one : embeddings_) {
        levels += one.column.levels;
        width += one.width;
        widest = std::max(widest, one.width);
    }
    const std::string columns = embeddings_.size() == 1 ? "a column" : std::to_string(embeddings_.size()) + " columns";
    lines.push_back("embeddings: " + columns + " of " + std::to_string(levels) + " levels " +
                    (embeddings_.size() == 1 ? "becomes " : "become ") + std::to_string(width) + " numbers, at most " +
                    std::to_string(widest) + " each; the first layer has " + std::to_string(layers_.front().inputs) +
                    " inputs");
    return lines;
}

void Mlp::set_replica_model(Stream& stream, int replica, const Model& model) const {
    const auto& mlp = static_cast<const Mlp&>(model);
    stream.write(activations_, replica, static_cast<std::uint32_t>(mlp.shape_.activation));
    for (std::size_t i = 0; i < layers_.size(); ++i)
        if (layers_[i].valid_outputs)
            stream.write(layers_[i].valid_outputs, replica, static_cast<std::uint32_t>(mlp.layers_[i].outputs));
}

Tensor Mlp::parameter(int index, const Tensor& block) const {
    if (index < 0) return {};
    return block_.parameters[static_cast<std::size_t>(index)].in(block);
}

Dropout Mlp::dropout(std::size_t layer, std::int64_t rows, const Training& training) const {
    const Tensor& mask = layers_[layer].mask;
    Extent extent = training.extent;
    extent.rows_per_sample = static_cast<std::uint32_t>(targets());
    return {.probability = training.dropout,
            .seed = training.seed,
            .iteration = training.iteration,
            .mask = mask ? mask.first_rows(rows) : Tensor{},
            .site = static_cast<std::uint32_t>(layer),
            .extent = extent};
}

void Mlp::normalise_and_activate(Stream& stream, std::size_t index, const Tensor& weights, std::int64_t rows,
                                 const Training* training) const {
    const Layer& layer = layers_[index];
    Tensor bias = parameter(layer.bias, weights);
    if (layer.mean) {
        stream.enqueue(LayerNorm{.input = layer.linear.first_rows(rows),
                                 .bias = bias,
                                 .scale = parameter(layer.norm_scale, weights),
                                 .shift = parameter(layer.norm_shift, weights),
                                 .output = layer.normed.first_rows(rows),
                                 .mean = layer.mean.first_rows(rows),
                                 .rstd = layer.rstd.first_rows(rows),
                                 .extent = {.columns = layer.valid_outputs}});
        bias = {};
    }
    if (layer.batch_norm.scale >= 0)
        batch_norms_.forward(stream, layer.batch_norm, block_, weights, layer.linear.first_rows(rows),
                             layer.normed.first_rows(rows), training);
    stream.enqueue(Activate{.activation = layer.hidden ? shape_.activation : Activation::none,
                            .pre = layer.normed.first_rows(rows),
                            .bias = bias,
                            .output = layer.output.first_rows(rows),
                            .dropout = layer.hidden && training ? dropout(index, rows, *training) : Dropout{},
                            .activations = layer.hidden ? activations_ : Tensor{}});
}

Tensor Mlp::first_input(const Tensor& input) const {
    if (embedded_) return (rounds() ? rounded_embedded_ : embedded_).first_rows(input.rows);
    return input.slice(0, input.rows * targets(), features() / targets());
}

Tensor Mlp::forward(Stream& stream, const Tensor& weights, const Tensor& input, const Training* training) {
    const std::int64_t rows = input.rows * targets();
    Tensor current = first_input(input);
    if (embedded_) {
        const Tensor embedded = embedded_.first_rows(rows);
        stream.enqueue(EmbedColumns{input, columns_, weights, embedded});
        current = operand(stream, embedded, rounded_embedded_);
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        const Layer& layer = layers_[i];
        stream.enqueue(Linear{current, operand(layer.weight, weights), layer.linear.first_rows(rows), precision_});
        normalise_and_activate(stream, i, weights, rows, training);
        current = layer.output.first_rows(rows);
    }
    return current;
}

void Mlp::backward(Stream& stream, const Tensor& weights, const Tensor& gradients, const Tensor& input,
                   const Tensor& output_gradient, const Training& training, Write write) {
    const std::int64_t rows = input.rows * targets();
    Tensor gradient = output_gradient;
    std::int64_t first_part = 0;
    for (std::size_t i = layers_.size(); i-- > 0;) {
        const Layer& layer = layers_[i];
        const Tensor bias_gradient = parameter(layer.bias, gradients);
        const bool normalised = layer.mean || layer.batch_norm.scale >= 0;
        // The operands of the products. The last operation that computes the gradient rounds it.
        const Tensor read = rounds() ? rounded_gradient_.slice(0, rows, layer.outputs) : gradient;
        const bool rounds_here = rounds() && !normalised;
        stream.enqueue(ActivateBackward{.activation = layer.hidden ? shape_.activation : Activation::none,
                                        .gradient = rounds_here ? read : gradient,
                                        .pre = layer.normed.first_rows(rows),
                                        .output = (rounds() ? layer.normed : layer.output).first_rows(rows),
                                        .bias_gradient = layer.mean ? Tensor{} : bias_gradient,
                                        .dropout = layer.hidden ? dropout(i, rows, training) : Dropout{},
                                        .write = write,
                                        .activations = layer.hidden ? activations_ : Tensor{},
                                        .incoming = rounds_here ? gradient : Tensor{}});
        if (layer.mean)
            stream.enqueue(LayerNormBackward{.gradient = gradient,
                                             .input = layer.linear.first_rows(rows),
                                             .mean = layer.mean.first_rows(rows),
                                             .rstd = layer.rstd.first_rows(rows),
                                             .scale = parameter(layer.norm_scale, weights),
                                             .scale_gradient = parameter(layer.norm_scale, gradients),
                                             .shift_gradient = parameter(layer.norm_shift, gradients),
                                             .bias_gradient = rounds() ? Tensor{} : bias_gradient,
                                             .write = write,
                                             .extent = {.columns = layer.valid_outputs}});
        if (layer.batch_norm.scale >= 0)
            batch_norms_.backward(stream, layer.batch_norm, block_, weights, gradients, layer.linear.first_rows(rows),
                                  gradient, write);
        if (rounds() && layer.mean)
            stream.enqueue(ActivateBackward{
                .gradient = read, .bias_gradient = bias_gradient, .write = write, .incoming = gradient});
        else if (rounds() && normalised)
            stream.enqueue(Round{gradient, read});
        const Tensor below = i > 0 ? layers_[i - 1].output.first_rows(rows) : first_input(input);
        const bool goes_on = i > 0 || !embeddings_.empty();
        const Tensor below_gradient = goes_on ? gradient_[i % 2].slice(0, rows, layer.inputs) : Tensor{};
        LinearBackward linear{.output_gradient = read,
                              .input = below,
                              .weight = operand(layer.weight, weights),
                              .weight_gradient = parameter(layer.weight, gradients),
                              .input_gradient = below_gradient,
                              .write = write,
                              .precision = precision_};
        AdamW adamw;
        if (training.update) {
            const std::int64_t parts = hpo::gradient_parts(layer.outputs, layer.inputs);
            adamw = training.update->adamw;
            for (Tensor* block : {&adamw.update.weights, &adamw.first_moment, &adamw.second_moment})
                *block = parameter(layer.weight, *block);
            if (rounds()) adamw.update.rounded = linear.weight;
            adamw.update.decayed = adamw.update.weights.elements();
            adamw.update.gradient = adamw.update.factor = {};
            linear.adamw = &adamw;
            linear.roots = training.update->roots.slice(first_part, 1, parts);
            first_part += parts;
        }
        stream.enqueue(linear);
        gradient = below_gradient;
    }
    if (embeddings_.empty()) return;
    std::int64_t most_levels = 0;
    for (const Embedding& one : embeddings_) most_levels = std::max(most_levels, one.column.levels);
    stream.enqueue(EmbedColumnsBackward{.input = input,
                                        .columns = columns_,
                                        .output_gradient = gradient,
                                        .weight_gradients = gradients,
                                        .most_levels = most_levels,
                                        .write = write});
}

void normalise_mlp(const Params& given, Params& all) {
    all.try_emplace("activation", std::string("relu"));
    all.try_emplace("norm", std::string("none"));
    if (!given.contains("hidden"))
        all["hidden"] = std::vector<std::int64_t>(static_cast<std::size_t>(std::get<std::int64_t>(all.at("depth"))),
                                                  std::get<std::int64_t>(all.at("width")));
    all.erase("width");
    all.erase("depth");
}

void pad_mlp(Params& all, const PaddingBounds& bounds) {
    auto widths = std::get<std::vector<std::int64_t>>(all.at("hidden"));
    for (std::int64_t& width : widths) width = padded_extent(width, bounds);
    all["hidden"] = std::move(widths);
    all["activation"] = std::string("gelu");
}

Result<std::unique_ptr<Model>> make_mlp(const Params& params, const DataShape& shape) {
    if (std::holds_alternative<TokenShape>(shape.sample))
        return Error{"model.type: mlp is for numbers" + wrong_samples(shape.sample)};
    MlpShape mlp;
    auto hidden = list_setting(params, "hidden");
    if (!hidden) return hidden.error();
    mlp.hidden = *hidden;
    if (!params.contains("hidden")) {
        const auto width = integer_setting(params, "width"), depth = integer_setting(params, "depth");
        if (!width) return width.error();
        if (!depth) return depth.error();
        mlp.hidden.assign(static_cast<std::size_t>(*depth), *width);
    }
    const auto activation = activation_setting(params);
    if (!activation) return activation.error();
    mlp.activation = *activation;
    const auto norm = text_setting(params, "norm");
    if (!norm) return norm.error();
    if (*norm == "rms" || *norm == "group")
        return Error{"model.norm: " + *norm + " is for type: " + (*norm == "rms" ? "transformer" : "cnn") +
                     ": use layer, batch or none"};
    mlp.layer_norm = *norm == "layer";
    if (*norm == "batch") {
        const auto ghost_batch = integer_setting(params, "ghost_batch");
        if (!ghost_batch) return ghost_batch.error();
        mlp.ghost_batch = *ghost_batch;
    }
    const auto embedding_width = integer_setting(params, "embedding_width");
    if (!embedding_width) return embedding_width.error();
    mlp.embedding_width = *embedding_width;
    mlp.categories = shape.categories;
    if (mlp.embedding_width > 0 && mlp.categories.empty())
        return Error{
            "model.embedding_width: the data has no categorical columns: leave it out, or name such columns "
            "of a table in data.categorical"};
    const auto base_width = base_width_setting(params);
    if (!base_width) return base_width.error();
    mlp.base_width = *base_width;
    return std::unique_ptr<Model>(
        std::make_unique<Mlp>(std::move(mlp), ModelShape{shape.features(), shape.outputs, shape.targets()}));
}

}  // namespace hpo
