#include "worker/models/cnn.hpp"

#include <algorithm>
#include <cmath>

#include "worker/models/settings.hpp"

namespace hpo {

Cnn::Cnn(const CnnShape& shape, std::int64_t outputs)
    : Model({shape.image.height * shape.image.width * shape.image.channels, outputs}),
      shape_(shape),
      batch_norms_(shape.ghost_batch) {
    std::vector<Parameter> parameters;
    const auto add = [&](Parameter parameter) {
        parameters.push_back(std::move(parameter));
        return static_cast<int>(parameters.size()) - 1;
    };
    const auto convolution = [&](const std::string& name, const Patches& patches, std::int64_t channels) {
        const auto bound = std::sqrt(6.0 / static_cast<double>(patches.elements()));
        Convolution made{.patches = patches, .outputs = channels};
        made.weight = add({name + ".weight",
                           {channels, patches.kernel, patches.kernel, patches.channels},
                           0,
                           true,
                           static_cast<float>(bound),
                           0,
                           name == "stem" ? Place::input : Place::hidden});
        return made;
    };
    const auto layer = [&](const std::string& name, const Patches& patches, std::int64_t channels) {
        Layer made;
        made.convolution = convolution(name, patches, channels);
        if (batch_norms_) {
            made.batch_norm = batch_norms_.add_layer(name + ".norm", channels, patches.out_pixels(), parameters);
            return made;
        }
        made.scale = add({name + ".norm.weight", {channels}, 0, false, 0, 1});
        made.shift = add({name + ".norm.bias", {channels}, 0, false, 0, 0});
        return made;
    };
    Patches patches{.height = shape.image.height, .width = shape.image.width, .channels = shape.image.channels};
    stem_ = layer("stem", patches, shape.channels);
    patches.channels = shape.channels;
    for (std::int64_t stage = 0; stage < shape.stages; ++stage)
        for (std::int64_t i = 0; i < shape.blocks; ++i) {
            const std::string name = "stages." + std::to_string(stage) + "." + std::to_string(i) + ".";
            Block block;
            block.projects = stage > 0 && i == 0;
            const std::int64_t channels = shape.channels << stage;
            Patches entry = patches;
            if (block.projects && shape.max_pooling) {
                block.pooling = {.height = patches.height, .width = patches.width};
                entry.height = (patches.height + 1) / 2;
                entry.width = (patches.width + 1) / 2;
            } else if (block.projects) {
                entry.stride = 2;
            }
            patches = {.height = entry.out_height(), .width = entry.out_width(), .channels = channels};
            block.first = layer(name + "first", entry, channels);
            block.second = layer(name + "second", patches, channels);
            if (block.projects) {
                entry.kernel = 1;
                block.shortcut = convolution(name + "shortcut", entry, channels);
            }
            blocks_.push_back(block);
        }
    features_ = patches.channels;
    const auto bound = static_cast<float>(1 / std::sqrt(static_cast<double>(features_)));
    head_weight_ = add({"head.weight", {outputs, features_}, 0, true, bound, 0});
    head_bias_ = add({"head.bias", {outputs}, 0, false, 0, 0});
    block_ = place_parameters(std::move(parameters));
}

double Cnn::Convolution::flops() const {
    return 2.0 * static_cast<double>(patches.out_pixels() * patches.elements() * outputs);
}

template <class F>
void Cnn::each_layer(F&& visit) {
    visit(stem_);
    for (Block& block : blocks_) {
        visit(block.first);
        visit(block.second);
    }
}

template <class F>
void Cnn::each_convolution(F&& visit) {
    each_layer([&](Layer& layer) { visit(layer.convolution); });
    for (Block& block : blocks_)
        if (block.projects) visit(block.shortcut);
}

double Cnn::forward_flops() const {
    double sum = stem_.convolution.flops() + 2.0 * static_cast<double>(features_ * outputs());
    for (const Block& block : blocks_) {
        sum += block.first.convolution.flops() + block.second.convolution.flops();
        if (block.projects) sum += block.shortcut.flops();
    }
    return sum;
}

double Cnn::backward_flops() const { return 2 * forward_flops() - stem_.convolution.flops(); }

namespace {

/// Samples whose patches of this convolution take `bytes` at most, at least one.
std::int64_t samples_in(std::int64_t bytes, const Patches& patches) {
    return std::max<std::int64_t>(1, bytes / (4 * patches.out_pixels() * patches.elements()));
}

}  // namespace

std::int64_t Cnn::indivisible(std::int64_t batch) const { return batch_norms_ ? batch_norms_.ghost_batch(batch) : 1; }

std::vector<std::string> Cnn::remarks() const {
    if (!batch_norms_) return {};
    return {batch_norms_.remark()};
}

void Cnn::plan(Layout& layout, const ModelPlan& plan) {
    const std::int64_t rows = plan.rows;
    precision_ = plan.precision;
    part_bytes_ = plan.part_bytes;
    const bool padded = plan.fusion == Fusion::padded;
    in_place_ = !padded && shape_.activation == Activation::relu;
    assert(!padded || shape_.activation != Activation::relu);
    if (padded) activations_ = layout.add_per_replica(Type::u32);
    std::int64_t largest = 0, most_patches = 0, most_workspace = 0, largest_gradient = 0, most_channels = 0;
    each_convolution([&](Convolution& it) {
        const std::int64_t pixels = it.patches.out_pixels();
        it.output = layout.add(Type::f32, rows * pixels, it.outputs);
        largest = std::max(largest, it.output.elements());
        const std::int64_t at_once = std::min(rows, samples_in(part_bytes_, it.patches)) * pixels;
        most_patches = std::max(most_patches, at_once * it.patches.elements());
        most_workspace = std::max(most_workspace, convolution_workspace(it.patches, it.outputs));
        largest_gradient = std::max(largest_gradient, at_once * it.outputs);
        most_channels = std::max(most_channels, it.outputs);
    });
    each_layer([&](Layer& layer) {
        const Tensor& like = layer.convolution.output;
        if (batch_norms_) {
            batch_norms_.plan_layer(layout, plan, like.columns, layer.batch_norm);
        } else {
            layer.mean = layout.add(Type::f32, rows, shape_.groups);
            layer.rstd = layout.add(Type::f32, rows, shape_.groups);
        }
        layer.normed = layout.add(Type::f32, like.rows, like.columns);
        layer.output = in_place_ ? layer.normed : layout.add(Type::f32, like.rows, like.columns);
    });
    for (Block& block : blocks_) {
        if (block.pooling.height == 0) continue;
        const Patches& from = block.first.convolution.patches;
        block.pooling.output = layout.add(Type::f32, rows * from.in_pixels(), from.channels);
    }
    pooled_ = layout.add(Type::f32, rows, features_);
    dropped_ = layout.add(Type::f32, rows, features_);
    mask_ = layout.add(Type::u8, rows, features_);
    pooled_gradient_ = layout.add(Type::f32, rows, features_);
    logits_ = layout.add(Type::f32, rows, outputs());
    patches_ = layout.add(Type::f32, 1, std::max(most_patches, most_workspace));
    patch_gradients_ = layout.add(Type::f32, 1, most_patches);
    for (Tensor& gradient : gradient_) gradient = layout.add(Type::f32, 1, largest);
    if (batch_norms_)
        batch_norms_.plan_workspace(layout);
    else
        sums_ = layout.add(Type::f32, rows, 2 * most_channels);
    if (const Type operand = operand_type(precision_); operand != Type::f32) {
        plan_rounded_weights(layout, precision_);
        rounded_patches_ = layout.add(operand, 1, std::max(most_patches, rows * features_));
        rounded_gradient_ = layout.add(operand, 1, std::max(largest_gradient, rows * outputs()));
    }
}

void Cnn::set_replica_model(Stream& stream, int replica, const Model& model) const {
    const auto activation = static_cast<const Cnn&>(model).shape_.activation;
    stream.write(activations_, replica, static_cast<std::uint32_t>(activation));
}

Tensor Cnn::parameter(int index, const Tensor& block) const {
    return block_.parameters[static_cast<std::size_t>(index)].in(block);
}

template <class F>
void Cnn::each_part(const Convolution& convolution, std::int64_t samples, F&& visit) const {
    const std::int64_t at_once = samples_in(part_bytes_, convolution.patches);
    for (std::int64_t first = 0; first < samples; first += at_once) visit(first, std::min(at_once, samples - first));
}

Dropout Cnn::dropout(std::int64_t samples, const Training& training) const {
    return {.probability = training.dropout,
            .seed = training.seed,
            .iteration = training.iteration,
            .mask = mask_.first_rows(samples),
            .extent = training.extent};
}

bool Cnn::convolves(const Stream& stream) const { return precision_ == Precision::float32 && stream.convolves(); }

Tensor Cnn::workspace(const Convolution& it) const {
    return patches_.slice(0, 1, convolution_workspace(it.patches, it.outputs));
}

void Cnn::convolve(Stream& stream, const Convolution& it, const Tensor& weights, const Tensor& input,
                   std::int64_t samples) const {
    const Patches& p = it.patches;
    if (convolves(stream))
        return stream.enqueue(Convolve{.patches = p,
                                       .input = input.slice(0, samples * p.in_pixels(), p.channels),
                                       .weight = parameter(it.weight, weights),
                                       .output = it.of(samples),
                                       .workspace = workspace(it)});
    each_part(it, samples, [&](std::int64_t first, std::int64_t count) {
        const std::int64_t rows = count * p.out_pixels();
        const Tensor patches = patches_.slice(0, rows, p.elements());
        const Tensor part = input.slice(first * p.in_pixels() * p.channels, count * p.in_pixels(), p.channels);
        stream.enqueue(Unfold{p, part, patches});
        stream.enqueue(Linear{operand(stream, patches, rounded_patches_), operand(it.weight, weights),
                              it.output.slice(first * p.out_pixels() * it.outputs, rows, it.outputs), precision_});
    });
}

void Cnn::normalise(Stream& stream, const Layer& layer, const Tensor& weights, std::int64_t samples,
                    const Training* training) const {
    if (batch_norms_)
        return batch_norms_.forward(stream, layer.batch_norm, block_, weights, layer.convolution.of(samples),
                                    layer.in(layer.normed, samples), training);
    stream.enqueue(GroupNorm{.pixels = layer.convolution.patches.out_pixels(),
                             .groups = shape_.groups,
                             .input = layer.convolution.of(samples),
                             .scale = parameter(layer.scale, weights),
                             .shift = parameter(layer.shift, weights),
                             .output = layer.in(layer.normed, samples),
                             .mean = layer.mean.first_rows(samples),
                             .rstd = layer.rstd.first_rows(samples)});
}

void Cnn::activate(Stream& stream, const Layer& layer, std::int64_t samples) const {
    stream.enqueue(Activate{.activation = shape_.activation,
                            .pre = layer.in(layer.normed, samples),
                            .bias = {},
                            .output = layer.in(layer.output, samples),
                            .dropout = {},
                            .activations = activations_});
}

MaxPixels Cnn::pooling(const Block& block, const Tensor& input, std::int64_t samples) const {
    MaxPixels made = block.pooling;
    made.input = input;
    made.output = made.output.first_rows(samples * made.out_pixels());
    return made;
}

Tensor Cnn::forward(Stream& stream, const Tensor& weights, const Tensor& input, const Training* training) {
    const std::int64_t samples = input.rows;
    const auto run = [&](const Layer& layer, const Tensor& from) {
        convolve(stream, layer.convolution, weights, from, samples);
        normalise(stream, layer, weights, samples, training);
    };
    run(stem_, input);
    activate(stream, stem_, samples);
    Tensor current = stem_.in(stem_.output, samples);
    for (const Block& block : blocks_) {
        if (block.pooling.output) {
            const MaxPixels pool = pooling(block, current, samples);
            stream.enqueue(pool);
            current = pool.output;
        }
        run(block.first, current);
        activate(stream, block.first, samples);
        run(block.second, block.first.in(block.first.output, samples));
        if (block.projects) convolve(stream, block.shortcut, weights, current, samples);
        stream.enqueue(
            Add{block.projects ? block.shortcut.of(samples) : current, block.second.in(block.second.normed, samples)});
        activate(stream, block.second, samples);
        current = block.second.in(block.second.output, samples);
    }
    stream.enqueue(MeanPixels{current, pooled_.first_rows(samples)});
    stream.enqueue(Activate{.activation = Activation::none,
                            .pre = pooled_.first_rows(samples),
                            .bias = {},
                            .output = dropped_.first_rows(samples),
                            .dropout = training ? dropout(samples, *training) : Dropout{},
                            .activations = {}});
    const Tensor logits = logits_.first_rows(samples);
    stream.enqueue(Linear{operand(stream, dropped_.first_rows(samples), rounded_patches_),
                          operand(head_weight_, weights), logits, precision_});
    stream.enqueue(Activate{.activation = Activation::none,
                            .pre = logits,
                            .bias = parameter(head_bias_, weights),
                            .output = logits,
                            .dropout = {},
                            .activations = {}});
    return logits;
}

void Cnn::convolve_backward(const Pass& pass, const Convolution& it, const Tensor& input, const Tensor& output_gradient,
                            const Tensor& input_gradient) const {
    const Patches& p = it.patches;
    if (convolves(pass.stream))
        return pass.stream.enqueue(ConvolveBackward{.patches = p,
                                                    .output_gradient = output_gradient,
                                                    .input = input.slice(0, pass.samples * p.in_pixels(), p.channels),
                                                    .weight = parameter(it.weight, pass.weights),
                                                    .weight_gradient = parameter(it.weight, pass.gradients),
                                                    .input_gradient = input_gradient,
                                                    .workspace = workspace(it),
                                                    .write = pass.write});
    each_part(it, pass.samples, [&](std::int64_t first, std::int64_t count) {
        const std::int64_t rows = count * p.out_pixels();
        const std::int64_t in_first = first * p.in_pixels() * p.channels;
        const Tensor patches = patches_.slice(0, rows, p.elements());
        const Tensor patch_gradients = input_gradient ? patch_gradients_.slice(0, rows, p.elements()) : Tensor{};
        pass.stream.enqueue(Unfold{p, input.slice(in_first, count * p.in_pixels(), p.channels), patches});
        const Tensor gradient = output_gradient.slice(first * p.out_pixels() * it.outputs, rows, it.outputs);
        pass.stream.enqueue(LinearBackward{.output_gradient = operand(pass.stream, gradient, rounded_gradient_),
                                           .input = operand(pass.stream, patches, rounded_patches_),
                                           .weight = operand(it.weight, pass.weights),
                                           .weight_gradient = parameter(it.weight, pass.gradients),
                                           .input_gradient = patch_gradients,
                                           .write = first == 0 ? pass.write : Write::add,
                                           .precision = precision_});
        if (input_gradient)
            pass.stream.enqueue(
                Fold{p, patch_gradients, input_gradient.slice(in_first, count * p.in_pixels(), p.channels)});
    });
}

void Cnn::activate_backward(const Pass& pass, const Layer& layer, const Tensor& gradient) const {
    pass.stream.enqueue(ActivateBackward{.activation = shape_.activation,
                                         .gradient = gradient,
                                         .pre = layer.in(layer.normed, pass.samples),
                                         .output = layer.in(layer.output, pass.samples),
                                         .bias_gradient = {},
                                         .dropout = {},
                                         .write = Write::set,
                                         .activations = activations_});
}

void Cnn::normalise_backward(const Pass& pass, const Layer& layer, const Tensor& gradient) const {
    if (batch_norms_)
        return batch_norms_.backward(pass.stream, layer.batch_norm, block_, pass.weights, pass.gradients,
                                     layer.convolution.of(pass.samples), gradient, pass.write);
    pass.stream.enqueue(GroupNormBackward{.pixels = layer.convolution.patches.out_pixels(),
                                          .groups = shape_.groups,
                                          .gradient = gradient,
                                          .input = layer.convolution.of(pass.samples),
                                          .mean = layer.mean.first_rows(pass.samples),
                                          .rstd = layer.rstd.first_rows(pass.samples),
                                          .scale = parameter(layer.scale, pass.weights),
                                          .scale_gradient = parameter(layer.scale, pass.gradients),
                                          .shift_gradient = parameter(layer.shift, pass.gradients),
                                          .sums = sums_.slice(0, pass.samples, 2 * layer.convolution.outputs),
                                          .write = pass.write});
}

void Cnn::backward(Stream& stream, const Tensor& weights, const Tensor& gradients, const Tensor& input,
                   const Tensor& output_gradient, const Training& training, Write write) {
    const std::int64_t samples = input.rows;
    const Pass pass{stream, weights, gradients, samples, write};
    stream.enqueue(ActivateBackward{.activation = Activation::none,
                                    .gradient = output_gradient,
                                    .pre = {},
                                    .output = {},
                                    .bias_gradient = parameter(head_bias_, gradients),
                                    .dropout = {},
                                    .write = write,
                                    .activations = {}});
    const Tensor pooled_gradient = pooled_gradient_.first_rows(samples);
    stream.enqueue(LinearBackward{.output_gradient = operand(stream, output_gradient, rounded_gradient_),
                                  .input = operand(stream, dropped_.first_rows(samples), rounded_patches_),
                                  .weight = operand(head_weight_, weights),
                                  .weight_gradient = parameter(head_weight_, gradients),
                                  .input_gradient = pooled_gradient,
                                  .write = write,
                                  .precision = precision_});
    stream.enqueue(ActivateBackward{.activation = Activation::none,
                                    .gradient = pooled_gradient,
                                    .pre = {},
                                    .output = {},
                                    .bias_gradient = {},
                                    .dropout = dropout(samples, training),
                                    .write = write,
                                    .activations = {}});
    // The gradient of the present layer is in gradient_[0], as [samples * pixels, channels] of that layer.
    const auto as = [&](const Tensor& gradient, const Tensor& like) {
        return gradient.slice(0, like.rows, like.columns);
    };
    stream.enqueue(
        MeanPixelsBackward{pooled_gradient, as(gradient_[0], blocks_.back().second.convolution.of(samples))});
    for (std::size_t i = blocks_.size(); i-- > 0;) {
        const Block& block = blocks_[i];
        const Layer& below = i > 0 ? blocks_[i - 1].second : stem_;
        const Tensor below_output = below.in(below.output, samples);
        const bool pools = static_cast<bool>(block.pooling.output);
        const Tensor block_input = pools ? pooling(block, below_output, samples).output : below_output;
        const Tensor gradient = as(gradient_[0], block.second.convolution.of(samples));
        const Tensor skipped = as(gradient_[2], gradient);
        activate_backward(pass, block.second, gradient);
        stream.enqueue(Copy{gradient, skipped});
        normalise_backward(pass, block.second, gradient);
        const Tensor middle = as(gradient_[1], block.first.convolution.of(samples));
        convolve_backward(pass, block.second.convolution, block.first.in(block.first.output, samples), gradient,
                          middle);
        activate_backward(pass, block.first, middle);
        normalise_backward(pass, block.first, middle);
        const Tensor input_gradient = as(gradient_[0], block_input);
        convolve_backward(pass, block.first.convolution, block_input, middle, input_gradient);
        Tensor through_shortcut = skipped;
        if (block.projects) {
            through_shortcut = as(gradient_[1], block_input);
            convolve_backward(pass, block.shortcut, block_input, skipped, through_shortcut);
        }
        if (pools) {
            stream.enqueue(Add{input_gradient, through_shortcut});
            stream.enqueue(MaxPixelsBackward{pooling(block, below_output, samples), through_shortcut,
                                             as(gradient_[0], below_output)});
        } else {
            stream.enqueue(Add{through_shortcut, input_gradient});
        }
    }
    const Tensor gradient = as(gradient_[0], stem_.convolution.of(samples));
    activate_backward(pass, stem_, gradient);
    normalise_backward(pass, stem_, gradient);
    convolve_backward(pass, stem_.convolution, input, gradient, {});
}

void normalise_cnn(const Params&, Params& all) {
    all.try_emplace("activation", std::string("relu"));
    all.try_emplace("norm", std::string("group"));
}

void pad_cnn(Params& all, const PaddingBounds&) { all["activation"] = std::string("gelu"); }

Result<std::unique_ptr<Model>> make_cnn(const Params& params, const DataShape& shape) {
    const auto* image = std::get_if<ImageShape>(&shape.sample);
    if (!image) return Error{"model.type: cnn is for images" + wrong_samples(shape.sample)};
    CnnShape cnn{.image = *image};
    for (const auto& [name, number] : {std::pair("channels", &cnn.channels), std::pair("stages", &cnn.stages),
                                       std::pair("blocks", &cnn.blocks), std::pair("groups", &cnn.groups)}) {
        const auto value = integer_setting(params, name);
        if (!value) return value.error();
        *number = *value;
    }
    const auto activation = activation_setting(params);
    if (!activation) return activation.error();
    cnn.activation = *activation;
    const auto norm = params.contains("norm") ? text_setting(params, "norm") : std::string("group");
    if (!norm) return norm.error();
    if (*norm != "group" && *norm != "batch")
        return Error{"model.norm: " + *norm + " is not for type: cnn: use group or batch"};
    if (*norm == "batch") {
        const auto ghost_batch = integer_setting(params, "ghost_batch");
        if (!ghost_batch) return ghost_batch.error();
        cnn.ghost_batch = *ghost_batch;
    } else if (cnn.channels % cnn.groups != 0)
        return Error{"model.channels: " + std::to_string(cnn.channels) + " is not a multiple of model.groups (" +
                     std::to_string(cnn.groups) + ")"};
    const auto downsampling = text_setting(params, "downsampling");
    if (!downsampling) return downsampling.error();
    cnn.max_pooling = *downsampling == "max";
    const std::int64_t side = std::min(image->height, image->width);
    if ((std::int64_t{1} << (cnn.stages - 1)) > side)
        return Error{"model.stages: " + std::to_string(cnn.stages) + " stages halve images of " +
                     std::to_string(image->height) + " x " + std::to_string(image->width) +
                     " to less than a pixel: use fewer"};
    return std::unique_ptr<Model>(std::make_unique<Cnn>(cnn, shape.outputs));
}

}  // namespace hpo
