#include "worker/models/model.hpp"

#include <algorithm>
#include <cmath>

namespace hpo {
namespace {

/// f32 elements, so that each parameter begins at a multiple of `alignment` bytes.
std::int64_t padded(std::int64_t elements) {
    constexpr auto unit = static_cast<std::int64_t>(alignment / sizeof(float));
    return (elements + unit - 1) / unit * unit;
}

}  // namespace

std::int64_t Parameter::elements() const {
    std::int64_t product = 1;
    for (auto extent : shape) product *= extent;
    return product;
}

Tensor Parameter::in(const Tensor& block) const { return block.slice(first, rows(), elements() / rows()); }

std::int64_t ParameterBlock::count() const {
    std::int64_t sum = 0;
    for (const auto& parameter : parameters)
        if (parameter.trained) sum += parameter.elements();
    return sum;
}

double ParameterBlock::width_factor(const Parameter& parameter) const {
    return base_width == 0 || parameter.place == Place::fixed
               ? 1
               : static_cast<double>(parameter.width) / static_cast<double>(base_width);
}

ParameterBlock place_parameters(std::vector<Parameter> parameters, std::int64_t base_width) {
    ParameterBlock block{std::move(parameters), 0, 0, base_width};
    for (auto& parameter : block.parameters)
        if (parameter.place == Place::output)
            parameter.bound = static_cast<float>(parameter.bound / std::sqrt(block.width_factor(parameter)));
    for (const bool decayed : {true, false}) {
        for (auto& parameter : block.parameters) {
            if (parameter.decayed != decayed) continue;
            parameter.first = block.elements;
            block.elements += padded(parameter.elements());
        }
        if (decayed) block.decayed = block.elements;
    }
    return block;
}

namespace {

/// Calls visit(place in the smaller block, place in the larger one, count) for each row of each parameter.
template <class F>
void each_row(const ParameterBlock& small, const ParameterBlock& large, F&& visit) {
    assert(small.parameters.size() == large.parameters.size());
    for (std::size_t i = 0; i < small.parameters.size(); ++i) {
        const Parameter& from = small.parameters[i];
        const Parameter& to = large.parameters[i];
        const std::int64_t rows = from.rows();
        const std::int64_t columns = from.elements() / rows, stride = to.elements() / to.rows();
        assert(to.shape.size() == from.shape.size() && stride >= columns && to.elements() >= rows * stride);
        for (std::int64_t row = 0; row < rows; ++row)
            visit(static_cast<std::size_t>(from.first + row * columns),
                  static_cast<std::size_t>(to.first + row * stride), static_cast<std::size_t>(columns));
    }
}

}  // namespace

void pad_block(const ParameterBlock& unpadded, std::span<const float> from, const ParameterBlock& padded,
               std::span<float> to) {
    std::fill(to.begin(), to.end(), 0.0F);
    each_row(unpadded, padded,
             [&](std::size_t at, std::size_t there, std::size_t count) { std::copy_n(&from[at], count, &to[there]); });
}

void unpad_block(const ParameterBlock& padded, std::span<const float> from, const ParameterBlock& unpadded,
                 std::span<float> to) {
    std::fill(to.begin(), to.end(), 0.0F);
    each_row(unpadded, padded,
             [&](std::size_t at, std::size_t there, std::size_t count) { std::copy_n(&from[there], count, &to[at]); });
}

void Model::plan_rounded_weights(Layout& layout, Precision precision) {
    const Type type = operand_type(precision);
    if (type != Type::f32) rounded_weights_ = layout.add(type, 1, block_.decayed);
}

Tensor Model::operand(int index, const Tensor& weights) const {
    return block_.parameters[static_cast<std::size_t>(index)].in(rounded_weights_ ? rounded_weights_ : weights);
}

Tensor Model::operand(Stream& stream, const Tensor& of, const Tensor& to) {
    if (!to) return of;
    const Tensor rounded = to.slice(0, of.rows, of.columns);
    stream.enqueue(Round{of, rounded});
    return rounded;
}

void Model::initialise(Stream& stream, const Tensor& weights, const Tensor& seed) const {
    stream.enqueue(Fill{weights, 0});
    std::uint32_t site = 0;
    for (const auto& parameter : block_.parameters) {
        if (parameter.bound > 0)
            stream.enqueue(Initialise{parameter.in(weights), parameter.bound, seed, site});
        else
            stream.enqueue(Fill{parameter.in(weights), parameter.constant});
        ++site;
    }
}

}  // namespace hpo
