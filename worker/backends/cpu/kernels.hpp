// The element-wise part of the CPU backend as a table of functions, once for each level of the architecture. All
// matrices are dense, row-major and of one replica; "adds" means that the caller has zeroed the target if it wants it
// written.
#pragma once

#include <cstdint>

#include "worker/backends/columns.hpp"
#include "worker/backends/convolution.hpp"
#include "worker/backends/order.hpp"

namespace hpo {

/// One replica's dropout, see Dropout in operations.hpp.
struct DropoutDraw {
    std::uint32_t threshold = 0;  ///< a 16-bit draw below it drops; 0: no dropout
    float scale = 1;              ///< of kept numbers
    std::uint32_t key0 = 0;       ///< the seed's words
    std::uint32_t key1 = 0;
    std::uint32_t iteration = 0;
    std::uint32_t site = 0;
    std::uint32_t first_row = 0;
    std::uint8_t* mask = nullptr;  ///< [rows, columns] or null
};

struct AdamWStep {
    float decay;   ///< 1 - lr * weight decay
    float factor;  ///< of the gradient
    float beta1;
    float beta2;
    float step;          ///< lr / (1 - beta1^t)
    float inverse_root;  ///< 1 / sqrt(1 - beta2^t)
    float epsilon;
};

struct SgdStep {
    float learning_rate;
    float decay;  ///< times w is added to the gradient
    float factor;
    float momentum;
    bool nesterov;
};

struct LionStep {
    float learning_rate;
    float decay;  ///< 1 - lr * weight decay
    float factor;
    float beta1;
    float beta2;
};

/// The sizes of Patches in convolution.hpp, with the size of the output.
struct PatchSizes {
    std::int64_t height, width, channels, kernel, stride, out_height, out_width;
};

/// The sizes of Attention in sequences.hpp.
struct AttentionSizes {
    std::int64_t steps, heads, kv_heads, width;
    bool causal;
    float scale;  // of the scores
};

struct Kernels {
    /// pre += bias (null: none); output = dropout(f(pre)) + skipped (null: none); output may be pre for [0] and [1]. By
    /// Activation.
    void (*activate[4])(std::int64_t rows, std::int64_t columns, float* pre, const float* bias, float* output,
                        const float* skipped, const DropoutDraw& dropout);
    /// gradient = incoming * f'(pre) * dropout; bias_gradient (null: none) adds its column sums. By Activation.
    void (*activate_backward[4])(std::int64_t rows, std::int64_t columns, float* gradient, const float* incoming,
                                 const float* pre, const float* output, float* bias_gradient,
                                 const DropoutDraw& dropout);
    /// Computes LayerNorm in operations.hpp; columns from `valid` on are padding.
    void (*layer_norm)(std::int64_t rows, std::int64_t columns, std::int64_t valid, bool centred, float* input,
                       const float* bias, const float* scale, const float* shift, float* output, float* mean,
                       float* rstd, float epsilon);
    /// Computes LayerNormBackward; the three parameter gradients add.
    void (*layer_norm_backward)(std::int64_t rows, std::int64_t columns, std::int64_t valid, bool centred,
                                float* gradient, const float* input, const float* mean, const float* rstd,
                                const float* scale, float* scale_gradient, float* shift_gradient, float* bias_gradient,
                                float* skipped_gradient);
    /// to += from.
    void (*add)(std::int64_t count, const float* from, float* to);
    /// Compute Unfold and Fold, for `images` images.
    void (*unfold)(std::int64_t images, const PatchSizes& sizes, const float* input, float* output);
    void (*fold)(std::int64_t images, const PatchSizes& sizes, const float* input, float* output);
    /// Compute Convolve and ConvolveBackward; the gradient of the weights adds, for the elements [begin, end) of a
    /// patch, and that of the input may be null.
    void (*convolve)(std::int64_t images, const PatchSizes& sizes, std::int64_t outputs, const float* input,
                     const float* weight, float* output, float* workspace);
    void (*convolve_backward)(std::int64_t images, const PatchSizes& sizes, std::int64_t outputs, const float* gradient,
                              const float* input, const float* weight, std::int64_t begin, std::int64_t end,
                              float* weight_gradient, float* input_gradient, float* workspace);
    /// Compute GroupNorm and GroupNormBackward; the parameters' gradients add.
    void (*group_norm)(std::int64_t samples, std::int64_t pixels, std::int64_t channels, std::int64_t groups,
                       const float* input, const float* scale, const float* shift, float* output, float* mean,
                       float* rstd, float epsilon);
    void (*group_norm_backward)(std::int64_t samples, std::int64_t pixels, std::int64_t channels, std::int64_t groups,
                                float* gradient, const float* input, const float* mean, const float* rstd,
                                const float* scale, float* scale_gradient, float* shift_gradient);
    /// Compute BatchNorm, in training and in evaluation, and BatchNormBackward; the parameters' gradients add.
    void (*batch_norm)(std::int64_t rows, std::int64_t columns, std::int64_t ghost, const float* input,
                       const float* scale, const float* shift, float* output, float* mean, float* rstd, float epsilon);
    void (*batch_norm_by_running)(std::int64_t rows, std::int64_t columns, const float* input, const float* scale,
                                  const float* shift, const float* running_mean, const float* running_variance,
                                  float* output, float epsilon);
    void (*batch_norm_backward)(std::int64_t rows, std::int64_t columns, std::int64_t ghost, float* gradient,
                                const float* input, const float* mean, const float* rstd, const float* scale,
                                float* scale_gradient, float* shift_gradient);
    /// Compute MeanPixels and MeanPixelsBackward.
    void (*mean_pixels)(std::int64_t samples, std::int64_t pixels, std::int64_t channels, const float* input,
                        float* output);
    void (*mean_pixels_backward)(std::int64_t samples, std::int64_t pixels, std::int64_t channels,
                                 const float* output_gradient, float* input_gradient);
    /// Compute MaxPixels and MaxPixelsBackward.
    void (*max_pixels)(std::int64_t images, std::int64_t height, std::int64_t width, std::int64_t channels,
                       const float* input, float* output);
    void (*max_pixels_backward)(std::int64_t images, std::int64_t height, std::int64_t width, std::int64_t channels,
                                const float* input, const float* output_gradient, float* input_gradient);
    /// Compute the operations of sequences.hpp; the table's gradient adds.
    void (*embed)(std::int64_t rows, std::int64_t columns, const float* tokens, const float* table, float* output);
    void (*embed_backward)(std::int64_t rows, std::int64_t columns, const float* tokens, const float* gradient,
                           float* table_gradient);
    /// Compute the operations of columns.hpp: `columns` has `outputs` entries; the tables' gradients add.
    void (*embed_columns)(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, const float* input,
                          const EmbeddedColumn* columns, const float* weights, float* output);
    void (*embed_columns_backward)(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, const float* input,
                                   const EmbeddedColumn* columns, const float* gradient, float* weight_gradients);
    void (*rotate)(std::int64_t samples, std::int64_t steps, std::int64_t columns, std::int64_t heads,
                   std::int64_t width, bool back, float* values);
    void (*attention)(std::int64_t samples, const AttentionSizes& sizes, const float* projections, float* output,
                      float* log_sums);
    void (*attention_backward)(std::int64_t samples, const AttentionSizes& sizes, const float* projections,
                               const float* output, const float* log_sums, const float* gradient, float* deltas,
                               float* of_projections);
    void (*gate)(std::int64_t rows, std::int64_t columns, const float* input, float* output);
    void (*gate_backward)(std::int64_t rows, std::int64_t columns, const float* input, const float* output_gradient,
                          float* input_gradient);
    /// Adds to loss and correct; gradient (times scale) null: not wanted; it may be logits.
    // As the operations of recurrent.hpp; before_gradient may be null.
    void (*swap_rows)(std::int64_t outer, std::int64_t inner, std::int64_t columns, const float* input, float* output);
    void (*gru_step)(std::int64_t rows, std::int64_t width, float* gates, const float* recurrent,
                     const float* input_bias, const float* recurrent_bias, const float* before, float* candidate,
                     float* output);
    void (*gru_step_backward)(std::int64_t rows, std::int64_t width, const float* gradient, float* gates,
                              const float* candidate, const float* before, float* recurrent_gradient,
                              float* before_gradient);
    void (*lstm_step)(std::int64_t rows, std::int64_t width, float* gates, const float* recurrent, const float* bias,
                      const float* cell_before, float* cell, float* output);
    void (*lstm_step_backward)(std::int64_t rows, std::int64_t width, const float* gradient, float* cell_gradient,
                               float* gates, const float* cell_before, const float* cell);
    void (*cross_entropy)(std::int64_t rows, std::int64_t columns, const float* logits, const std::int32_t* labels,
                          const float* class_weights, float smoothing, float weight, float scale, float* loss,
                          std::int32_t* correct, float* gradient);
    void (*binary_cross_entropy)(std::int64_t rows, std::int64_t columns, const float* logits, const float* labels,
                                 const float* class_weights, float smoothing, float weight, float scale, float* loss,
                                 std::int32_t* correct, float* gradient);
    /// Computes SquaredError, over all elements: adds to loss and absolute; gradient as above.
    void (*squared_error)(std::int64_t count, const float* predictions, const float* targets, float weight, float scale,
                          float* loss, float* absolute, float* gradient);
    /// Replaces each position by the sample that is there, EpochOrder::at.
    void (*permute)(std::int64_t count, const EpochOrder& order, std::uint32_t* positions);
    /// output row r = source row indices[r] * scale + shift.
    void (*gather_f32)(std::int64_t rows, std::int64_t columns, const float* source, const std::int32_t* indices,
                       float scale, float shift, float* output);
    void (*gather_u8)(std::int64_t rows, std::int64_t columns, const std::uint8_t* source, const std::int32_t* indices,
                      float scale, float shift, float* output);
    double (*sum_of_squares)(std::int64_t count, const float* values);
    void (*adamw)(std::int64_t count, const AdamWStep& step, float* weights, const float* gradient, float* first,
                  float* second);
    void (*sgd)(std::int64_t count, const SgdStep& step, float* weights, const float* gradient, float* velocity);
    void (*lion)(std::int64_t count, const LionStep& step, float* weights, const float* gradient, float* first);
    /// averaged += rest * (weights - averaged)
    void (*average)(std::int64_t count, float rest, const float* weights, float* averaged);
    /// Uniform in [-bound, bound), element e from word e % 4 of the block e / 4.
    void (*initialise)(std::int64_t count, float bound, std::uint32_t key0, std::uint32_t key1, std::uint32_t site,
                       float* values);
};

}  // namespace hpo
