#include "worker/models/model.hpp"

#include <algorithm>

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

Tensor Parameter::in(const Tensor& block) const {
    const std::int64_t rows = shape.size() == 2 ? shape[0] : 1;
    return block.slice(first, rows, elements() / rows);
}

std::int64_t ParameterBlock::count() const {
    std::int64_t sum = 0;
    for (const auto& parameter : parameters) sum += parameter.elements();
    return sum;
}

ParameterBlock place_parameters(std::vector<Parameter> parameters) {
    ParameterBlock block{std::move(parameters), 0, 0};
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

void Model::initialise(Stream& stream, const Tensor& weights, const Tensor& seed) const {
    stream.fill(weights, 0);
    std::uint32_t site = 0;
    for (const auto& parameter : block_.parameters) {
        if (parameter.bound > 0)
            stream.initialise(parameter.in(weights), parameter.bound, seed, site);
        else
            stream.fill(parameter.in(weights), parameter.constant);
        ++site;
    }
}

}  // namespace hpo
