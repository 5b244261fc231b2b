// The work of an operation, as profiles show it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "worker/backends/tensor.hpp"

namespace hpo {

struct Work {
    std::string shape;  ///< of one replica, for people
    double bytes = 0;   ///< of one replica, with each tensor moved once
    double flops = 0;   ///< of one replica's matrix products
};

/// An operation on numbers that lie as in `like`. `moved`: each tensor as often as it is read or written; none are
/// ignored.
inline Work moving(const Tensor& like, std::initializer_list<Tensor> moved) {
    Work work{std::to_string(like.rows) + " x " + std::to_string(like.columns)};
    for (const Tensor& tensor : moved) work.bytes += static_cast<double>(tensor.bytes());
    return work;
}

inline double product_flops(std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(inputs) * static_cast<double>(outputs);
}

/// Returns the work of `products` products of [rows, inputs] by `weight` [outputs, inputs], or of the same number of
/// operations.
inline Work multiplying(std::int64_t rows, const Tensor& weight, int products, std::initializer_list<Tensor> moved) {
    Work work = moving(weight, moved);
    const std::int64_t inputs = weight.columns, outputs = weight.rows;
    work.shape = std::to_string(rows) + " x " + std::to_string(inputs) + " x " + std::to_string(outputs);
    work.flops = products * product_flops(rows, inputs, outputs);
    return work;
}

}  // namespace hpo
