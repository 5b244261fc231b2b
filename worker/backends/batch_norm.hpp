// Batch normalisation. Everything that backend.hpp says of operations holds for these.
//
// Over ghost batches, because a whole batch could not be divided into micro-batches where memory is short.
#pragma once

#include <cstdint>

#include "worker/backends/tensor.hpp"
#include "worker/backends/work.hpp"

namespace hpo {

/// Batch normalisation (Ioffe and Szegedy, "Batch normalization", ICML 2015) over ghost batches (Hoffer, Hubara and
/// Soudry, "Train longer, generalize better", NeurIPS 2017): each column by its mean and its variance over G
/// neighbouring rows. The last ghost batch of the input has the remaining rows. All rows must be valid.
///
/// The running mean and variance are averages over updates: running += d * (present - running) with
/// d = max(momentum, 1 / (iteration + 1)), so that the first update replaces the initial ones. The present ones are
/// means over the ghost batches of the whole batch, weighted by their rows, of their means and unbiased variances. They
/// are added micro-batch by micro-batch: the first one (Write::set) also takes d times the running ones away.
struct BatchNorm {
    std::int64_t ghost = 0;    ///< G; 0: evaluation, by the running mean and variance
    std::int64_t batch = 1;    ///< training: rows of the whole batch
    Tensor input;              ///< [B, C]
    Tensor scale;              ///< [1, C]
    Tensor shift;              ///< [1, C]
    Tensor output;             ///< [B, C] written
    Tensor mean;               ///< [ghost batches, C] written in training
    Tensor rstd;               ///< [ghost batches, C] written in training: 1 / sqrt(variance + epsilon)
    Tensor running_mean;       ///< [1, C] updated in training
    Tensor running_variance;   ///< [1, C] updated in training
    Tensor iteration;          ///< u32 per replica, in training
    Tensor parts;              ///< [batch_norm_parts(B, G), 2 * C] workspace in training
    Write write = Write::set;  ///< set: the input is the first micro-batch of an update
    float epsilon = 1e-5F;

    static constexpr float momentum = 0.1F;
    static constexpr std::int64_t part_rows = 512;  ///< rows whose sums are taken together

    [[nodiscard]] Work work() const { return moving(output, {input, output}); }
};

constexpr std::int64_t ghost_batches(std::int64_t rows, std::int64_t ghost) { return (rows + ghost - 1) / ghost; }

/// Rows of the workspace.
constexpr std::int64_t batch_norm_parts(std::int64_t rows, std::int64_t ghost) {
    return ghost_batches(rows, ghost) * ((ghost + BatchNorm::part_rows - 1) / BatchNorm::part_rows);
}

struct BatchNormBackward {
    std::int64_t ghost = 0;
    Tensor gradient;        ///< [B, C] of the output; becomes that of the input
    Tensor input;           ///< [B, C]
    Tensor mean;            ///< [ghost batches, C]
    Tensor rstd;            ///< [ghost batches, C]
    Tensor scale;           ///< [1, C]
    Tensor scale_gradient;  ///< [1, C] by `write`
    Tensor shift_gradient;  ///< [1, C] by `write`
    Tensor parts;           ///< as in forward
    Write write = Write::set;

    [[nodiscard]] Work work() const { return moving(gradient, {gradient, gradient, input}); }
};

}  // namespace hpo
