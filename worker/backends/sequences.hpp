// The operations of models over sequences. B samples of S steps: a row for each step, B * S rows in all, and W numbers
// in a row. Everything that backend.hpp says of operations holds for these.
#pragma once

#include <cmath>
#include <cstdint>

#include "worker/backends/tensor.hpp"
#include "worker/backends/work.hpp"

namespace hpo {

/// Each token becomes a row of a table.
struct Embed {
    Tensor tokens;  ///< [B, S]: whole numbers from 0 to V - 1
    Tensor table;   ///< [V, W]
    Tensor output;  ///< [B * S, W] written

    [[nodiscard]] Work work() const { return moving(output, {tokens, output, output}); }
};

struct EmbedBackward {
    Tensor tokens;           ///< [B, S]
    Tensor output_gradient;  ///< [B * S, W]
    Tensor table_gradient;   ///< [V, W] by `write`: the sum over the places of each token
    Write write = Write::set;

    [[nodiscard]] Work work() const { return moving(output_gradient, {tokens, output_gradient, table_gradient}); }
};

/// Rotary positions (Su et al., "RoFormer", 2021): in each head of D numbers, the numbers i and i + D / 2 of step s are
/// the coordinates of a point that is turned by s / 10000^(2 i / D).
struct Rotate {
    std::int64_t steps = 1;  ///< S
    std::int64_t heads = 1;
    std::int64_t width = 2;  ///< D, even
    Tensor values;           ///< [B * S, C]: the first heads * D columns are turned in place
    bool back = false;       ///< by the opposite angle, which is the gradient's way

    [[nodiscard]] Work work() const { return moving(values, {values, values}); }
};

/// Softmax(scale * Q K^T) V for each sample and each of H heads of D numbers, computed in tiles, so that the S x S
/// scores of a head are never in memory (Dao et al., "FlashAttention", NeurIPS 2022). H / K neighbouring heads share
/// keys and values (grouped-query attention, Ainslie et al. 2023).
struct Attention {
    std::int64_t steps = 1;     ///< S
    std::int64_t heads = 1;     ///< H, a multiple of kv_heads
    std::int64_t kv_heads = 1;  ///< K
    bool causal = false;        ///< a step attends to itself and those before it, and not to all
    float scale = 0;            ///< 0: 1 / sqrt(D)
    Tensor projections;         ///< [B * S, (H + 2 K) * D]: the heads' queries, then the keys, then the values
    Tensor output;              ///< [B * S, H * D] written
    Tensor log_sums;            ///< [B * S, H] written: the logarithm of the sum of the exponentials of the scores

    static constexpr std::int64_t widest_head = 128;  ///< D at most

    [[nodiscard]] std::int64_t width() const { return output.columns / heads; }  ///< D
    [[nodiscard]] float score_scale() const {
        return scale > 0 ? scale : 1.0F / std::sqrt(static_cast<float>(width()));
    }

    /// Returns the work of the products of queries with keys, and of their weights with values.
    [[nodiscard]] Work work() const {
        Work work = moving(output, {projections, output, log_sums});
        work.shape = std::to_string(output.rows / steps) + " x " + std::to_string(steps) + " steps, " +
                     std::to_string(heads) + " heads of " + std::to_string(width());
        work.flops = 2 * product_flops(output.rows, output.columns, steps) / (causal ? 2 : 1);
        return work;
    }
};

struct AttentionBackward {
    Attention forward;      ///< as it was done, with its results
    Tensor gradient;        ///< [B * S, H * D]: of the output
    Tensor deltas;          ///< [B * S, H] workspace: its content afterwards is not defined
    Tensor of_projections;  ///< [B * S, (H + 2 K) * D] written

    /// Five products in place of two.
    [[nodiscard]] Work work() const {
        Work work = forward.work();
        work.bytes = moving(gradient, {forward.projections, forward.output, gradient, of_projections}).bytes;
        work.flops *= 2.5;
        return work;
    }
};

/// The gate of SwiGLU (Shazeer, "GLU variants improve transformer", 2020): silu(left half) * right half of each row.
struct Gate {
    Tensor input;   ///< [B * S, 2 * W]
    Tensor output;  ///< [B * S, W] written

    [[nodiscard]] Work work() const { return moving(input, {input, output}); }
};

struct GateBackward {
    Tensor input;            ///< [B * S, 2 * W]
    Tensor output_gradient;  ///< [B * S, W]
    Tensor input_gradient;   ///< [B * S, 2 * W] written

    [[nodiscard]] Work work() const { return moving(input, {input, output_gradient, input_gradient}); }
};

}  // namespace hpo
