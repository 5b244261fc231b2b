#include "worker/models/recurrent.hpp"

#include <algorithm>
#include <cmath>

#include "worker/models/settings.hpp"

namespace hpo {

Recurrent::Recurrent(const RecurrentShape& shape, std::int64_t outputs, std::int64_t targets)
    : Model({shape.vocabulary > 0 ? shape.steps : shape.steps * shape.features, outputs, targets}), shape_(shape) {
    std::vector<Parameter> parameters;
    const auto add = [&](Parameter parameter) {
        parameters.push_back(std::move(parameter));
        return static_cast<int>(parameters.size()) - 1;
    };
    const std::int64_t width = shape.width, gates = shape.gates() * width;
    const auto bound = static_cast<float>(1 / std::sqrt(static_cast<double>(width)));
    const std::vector<std::int64_t> each_gate(static_cast<std::size_t>(shape.gates()), width);
    if (shape.vocabulary > 0)
        tokens_ = add({"tokens.weight", {shape.vocabulary, width}, 0, true, static_cast<float>(std::sqrt(3.0)), 0});
    for (std::int64_t i = 0; i < shape.depth; ++i) {
        const std::string name = "layers." + std::to_string(i) + ".";
        Layer layer;
        const std::int64_t inputs = i == 0 ? shape.entering() : width;
        layer.weight = add({name + "weight",
                            {gates, inputs},
                            0,
                            true,
                            bound,
                            0,
                            i == 0 ? Place::input : Place::hidden,
                            i == 0 ? width : inputs,
                            true,
                            each_gate});
        layer.recurrent_weight =
            add({name + "recurrent.weight", {gates, width}, 0, true, bound, 0, Place::hidden, width, true, each_gate});
        layer.bias = add({name + "bias", {gates}, 0, false, 0, 0});
        if (shape.cell == RecurrentShape::Cell::gru)
            layer.recurrent_bias = add({name + "recurrent.bias", {gates}, 0, false, 0, 0});
        layers_.push_back(layer);
    }
    head_ = add({"head.weight", {outputs, width}, 0, true, bound, 0});
    head_bias_ = add({"head.bias", {outputs}, 0, false, 0, 0});
    block_ = place_parameters(std::move(parameters));
}

double Recurrent::forward_flops() const {
    const double gates = static_cast<double>(shape_.gates() * shape_.width);
    const double layers =
        static_cast<double>(shape_.entering() + (shape_.depth - 1) * shape_.width + shape_.depth * shape_.width);
    return 2.0 * (static_cast<double>(shape_.steps) * gates * layers +
                  static_cast<double>(targets() * shape_.width * outputs()));
}

double Recurrent::backward_flops() const {
    // Numbers have no gradient, and the first step's state has none.
    const double gates = static_cast<double>(shape_.gates() * shape_.width);
    const double input =
        shape_.vocabulary > 0 ? 0 : static_cast<double>(shape_.steps) * gates * static_cast<double>(shape_.features);
    return 2 * forward_flops() - 2.0 * (input + static_cast<double>(shape_.depth * shape_.width) * gates);
}

void Recurrent::plan(Layout& layout, const ModelPlan& plan) {
    const std::int64_t samples = plan.rows, steps = shape_.steps, rows = samples * steps, width = shape_.width;
    const std::int64_t gates = shape_.gates() * width;
    const bool gru = shape_.cell == RecurrentShape::Cell::gru;
    precision_ = plan.precision;
    const auto add = [&](std::int64_t count, std::int64_t columns) { return layout.add(Type::f32, count, columns); };
    // Tensors laid out since the last call belong to this part.
    parts_ = {{"layers"}, {"entry and head"}, {"gradients"}, {"rounded operands"}};
    std::size_t counted = layout.bytes();
    const auto count_as = [&](std::size_t part) {
        parts_[part].bytes += layout.bytes() - counted;
        counted = layout.bytes();
    };
    for (Layer& layer : layers_) {
        layer.gates = add(rows, gates);
        layer.states = add(rows + samples, width);
        (gru ? layer.candidates : layer.cells) = add(gru ? rows : rows + samples, width);
    }
    count_as(0);
    by_step_ = add(rows, shape_.vocabulary > 0 ? 1 : shape_.features);
    if (shape_.vocabulary > 0) entered_ = add(rows, width);
    const std::int64_t output_rows = samples * targets();
    if (targets() > 1) by_sample_ = add(rows, width);
    dropped_ = add(output_rows, width);
    mask_ = layout.add(Type::u8, output_rows, width);
    outputs_ = add(output_rows, outputs());
    count_as(1);
    recurrent_ = add(gru ? rows : samples, gates);
    state_gradient_ = add(rows, width);
    below_gradient_ = add(rows, width);
    if (!gru) cell_gradient_ = add(samples, width);
    carried_ = add(samples, width);
    count_as(2);
    if (const Type operand = operand_type(precision_); operand != Type::f32) {
        plan_rounded_weights(layout, precision_);
        rounded_input_ = layout.add(operand, 1, rows * std::max(width, shape_.features));
        rounded_gradient_ = layout.add(operand, 1, std::max(rows * gates, output_rows * outputs()));
        count_as(3);
    }
    std::erase_if(parts_, [](const MemoryPart& part) { return part.bytes == 0; });
}

void Recurrent::set_replica_model(Stream&, int, const Model&) const {}  // the models of a bucket are equal

Tensor Recurrent::parameter(int index, const Tensor& block) const {
    return index < 0 || !block ? Tensor{} : block_.parameters[static_cast<std::size_t>(index)].in(block);
}

Dropout Recurrent::dropout(const Training& training, std::int64_t rows) const {
    Dropout made{.probability = training.dropout,
                 .seed = training.seed,
                 .iteration = training.iteration,
                 .mask = mask_.first_rows(rows),
                 .extent = training.extent};
    made.extent.rows_per_sample = static_cast<std::uint32_t>(targets());
    return made;
}

void Recurrent::multiply(const Pass& pass, const Tensor& input, int index, const Tensor& output) const {
    pass.stream.enqueue(
        Linear{operand(pass.stream, input, rounded_input_), operand(index, pass.weights), output, precision_});
}

void Recurrent::multiply_backward(const Pass& pass, const Tensor& output_gradient, const Tensor& input, int index,
                                  bool weights, const Tensor& input_gradient) const {
    pass.stream.enqueue(LinearBackward{.output_gradient = operand(pass.stream, output_gradient, rounded_gradient_),
                                       .input = weights ? operand(pass.stream, input, rounded_input_) : input,
                                       .weight = operand(index, pass.weights),
                                       .weight_gradient = weights ? parameter(index, pass.gradients) : Tensor{},
                                       .input_gradient = input_gradient,
                                       .write = pass.write,
                                       .precision = precision_});
}

Tensor Recurrent::input_of(const Pass& pass, std::size_t layer) const {
    if (layer > 0) return pass.steps(layers_[layer - 1].states, 1, shape_.steps);
    return pass.steps(shape_.vocabulary > 0 ? entered_ : by_step_, 0, shape_.steps);
}

void Recurrent::run(const Pass& pass, std::size_t index) const {
    const Layer& layer = layers_[index];
    Stream& stream = pass.stream;
    multiply(pass, input_of(pass, index), layer.weight, pass.steps(layer.gates, 0, shape_.steps));
    stream.enqueue(Fill{pass.step(layer.states, 0), 0});
    if (layer.cells) stream.enqueue(Fill{pass.step(layer.cells, 0), 0});
    const Tensor recurrent = pass.step(recurrent_, 0);
    for (std::int64_t step = 0; step < shape_.steps; ++step) {
        const Tensor before = pass.step(layer.states, step), after = pass.step(layer.states, step + 1);
        multiply(pass, before, layer.recurrent_weight, recurrent);
        if (layer.cells)
            stream.enqueue(LstmStep{.gates = pass.step(layer.gates, step),
                                    .recurrent = recurrent,
                                    .bias = parameter(layer.bias, pass.weights),
                                    .cell_before = pass.step(layer.cells, step),
                                    .cell = pass.step(layer.cells, step + 1),
                                    .output = after});
        else
            stream.enqueue(GruStep{.gates = pass.step(layer.gates, step),
                                   .recurrent = recurrent,
                                   .input_bias = parameter(layer.bias, pass.weights),
                                   .recurrent_bias = parameter(layer.recurrent_bias, pass.weights),
                                   .before = before,
                                   .candidate = pass.step(layer.candidates, step),
                                   .output = after});
    }
}

Tensor Recurrent::forward(Stream& stream, const Tensor& weights, const Tensor& input, const Training* training) {
    const Pass pass{stream, weights, input.rows};
    const std::int64_t steps = shape_.steps;
    const Tensor by_step = pass.steps(by_step_, 0, steps);
    stream.enqueue(SwapRows{input.slice(0, by_step.rows, by_step.columns), by_step, steps});
    if (tokens_ >= 0)
        stream.enqueue(
            Embed{by_step.slice(0, steps, pass.samples), parameter(tokens_, weights), pass.steps(entered_, 0, steps)});
    for (std::size_t i = 0; i < layers_.size(); ++i) run(pass, i);
    Tensor features = pass.step(layers_.back().states, steps);
    if (by_sample_) {
        features = by_sample_.first_rows(by_step.rows);
        stream.enqueue(SwapRows{pass.steps(layers_.back().states, 1, steps), features, pass.samples});
    }
    if (training) {
        const Tensor dropped = dropped_.first_rows(features.rows);
        stream.enqueue(Activate{.pre = features, .output = dropped, .dropout = dropout(*training, features.rows)});
        features = dropped;
    }
    const Tensor outputs = outputs_.first_rows(features.rows);
    multiply(pass, features, head_, outputs);
    stream.enqueue(Activate{.pre = outputs, .bias = parameter(head_bias_, weights), .output = outputs});
    return outputs;
}

void Recurrent::run_backward(const Pass& pass, std::size_t index) const {
    const Layer& layer = layers_[index];
    Stream& stream = pass.stream;
    const std::int64_t steps = shape_.steps;
    const bool gru = layer.recurrent_bias >= 0;
    // In a GRU, the gradients of the parts from the input and from the state differ.
    const Tensor& of_recurrent = gru ? recurrent_ : layer.gates;
    if (!gru) stream.enqueue(Fill{pass.step(cell_gradient_, 0), 0});
    for (std::int64_t step = steps; step-- > 0;) {
        const Tensor gradient = pass.step(state_gradient_, step), before = pass.step(layer.states, step);
        const Tensor below = step > 0 ? pass.step(state_gradient_, step - 1) : Tensor{};
        if (gru)
            stream.enqueue(GruStepBackward{.gradient = gradient,
                                           .gates = pass.step(layer.gates, step),
                                           .candidate = pass.step(layer.candidates, step),
                                           .before = before,
                                           .recurrent_gradient = pass.step(recurrent_, step),
                                           .before_gradient = below});
        else
            stream.enqueue(LstmStepBackward{.gradient = gradient,
                                            .cell_gradient = pass.step(cell_gradient_, 0),
                                            .gates = pass.step(layer.gates, step),
                                            .cell_before = pass.step(layer.cells, step),
                                            .cell = pass.step(layer.cells, step + 1)});
        if (step == 0) break;
        const Tensor carried = pass.step(carried_, 0);
        multiply_backward(pass, pass.step(of_recurrent, step), before, layer.recurrent_weight, false, carried);
        stream.enqueue(Add{carried, below});
    }
    const Tensor of_gates = pass.steps(layer.gates, 0, steps), all_recurrent = pass.steps(of_recurrent, 0, steps);
    multiply_backward(pass, all_recurrent, pass.steps(layer.states, 0, steps), layer.recurrent_weight, true, {});
    stream.enqueue(ActivateBackward{
        .gradient = of_gates, .bias_gradient = parameter(layer.bias, pass.gradients), .write = pass.write});
    if (gru)
        stream.enqueue(ActivateBackward{.gradient = all_recurrent,
                                        .bias_gradient = parameter(layer.recurrent_bias, pass.gradients),
                                        .write = pass.write});
    const bool goes_on = index > 0 || tokens_ >= 0;
    multiply_backward(pass, of_gates, input_of(pass, index), layer.weight, true,
                      goes_on ? pass.steps(below_gradient_, 0, steps) : Tensor{});
}

void Recurrent::backward(Stream& stream, const Tensor& weights, const Tensor& gradients, const Tensor& input,
                         const Tensor& output_gradient, const Training& training, Write write) {
    const Pass pass{stream, weights, input.rows, gradients, write};
    const std::int64_t steps = shape_.steps;
    stream.enqueue(ActivateBackward{
        .gradient = output_gradient, .bias_gradient = parameter(head_bias_, gradients), .write = write});
    const Tensor all = pass.steps(state_gradient_, 0, steps);
    const Tensor dropped = dropped_.first_rows(output_gradient.rows);
    // With a target for each step, the gradient is swapped from the place of the head's input.
    const Tensor of_features =
        by_sample_ ? by_sample_.first_rows(output_gradient.rows) : pass.step(state_gradient_, steps - 1);
    if (!by_sample_) stream.enqueue(Fill{all, 0});
    multiply_backward(pass, output_gradient, dropped, head_, true, of_features);
    stream.enqueue(ActivateBackward{.gradient = of_features, .dropout = dropout(training, of_features.rows)});
    if (by_sample_) stream.enqueue(SwapRows{of_features, all, steps});
    for (std::size_t i = layers_.size(); i-- > 0;) {
        run_backward(pass, i);
        if (i > 0) stream.enqueue(Copy{pass.steps(below_gradient_, 0, steps), all});
    }
    if (tokens_ >= 0)
        stream.enqueue(EmbedBackward{pass.steps(by_step_, 0, steps).slice(0, steps, pass.samples),
                                     pass.steps(below_gradient_, 0, steps), parameter(tokens_, gradients), write});
}

void normalise_recurrent(const Params&, Params& all) {
    all.erase("activation");
    all.erase("norm");
}

void pad_recurrent(Params&, const PaddingBounds&) {}

namespace {

Result<std::unique_ptr<Model>> make_recurrent(RecurrentShape::Cell cell, const Params& params, const DataShape& data) {
    RecurrentShape shape;
    shape.cell = cell;
    const std::string name = cell == RecurrentShape::Cell::gru ? "gru" : "lstm";
    if (const auto* tokens = std::get_if<TokenShape>(&data.sample)) {
        shape.steps = tokens->steps;
        shape.vocabulary = tokens->vocabulary;
    } else if (const auto* sequence = std::get_if<SequenceShape>(&data.sample)) {
        shape.steps = sequence->steps;
        shape.features = sequence->features;
    } else {
        return Error{"model.type: " + name + " is for sequences" + wrong_samples(data.sample)};
    }
    for (const auto& [key, number] : {std::pair("depth", &shape.depth), std::pair("width", &shape.width)}) {
        const auto value = integer_setting(params, key);
        if (!value) return value.error();
        *number = *value;
    }
    if (shape.depth == 0) return Error{"model.depth: " + name + " needs at least one layer"};
    return std::unique_ptr<Model>(std::make_unique<Recurrent>(shape, data.outputs, data.targets()));
}

}  // namespace

Result<std::unique_ptr<Model>> make_gru(const Params& params, const DataShape& shape) {
    return make_recurrent(RecurrentShape::Cell::gru, params, shape);
}

Result<std::unique_ptr<Model>> make_lstm(const Params& params, const DataShape& shape) {
    return make_recurrent(RecurrentShape::Cell::lstm, params, shape);
}

}  // namespace hpo
