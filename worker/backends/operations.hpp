// The operations that devices compute, each as the structure of its arguments. Operations of one kind of model have a
// header of their own; the list at the end names all operations. The rules of every operation are in backend.hpp.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

#include "worker/backends/batch_norm.hpp"
#include "worker/backends/columns.hpp"
#include "worker/backends/convolution.hpp"
#include "worker/backends/optimizers.hpp"
#include "worker/backends/recurrent.hpp"
#include "worker/backends/sequences.hpp"
#include "worker/backends/tensor.hpp"
#include "worker/backends/work.hpp"

namespace hpo {

class Buffer;

/// Every element becomes `value`.
struct Fill {
    Tensor to;  ///< f32, written
    float value = 0;

    [[nodiscard]] Work work() const { return moving(to, {to}); }
};

struct Copy {
    Tensor from;
    Tensor to;  ///< written; same shape and type

    [[nodiscard]] Work work() const { return moving(to, {from, to}); }
};

/// to += from.
struct Add {
    Tensor from;  ///< f32
    Tensor to;    ///< f32, same shape

    [[nodiscard]] Work work() const { return moving(to, {from, to, to}); }
};

/// Rounds f32 to bf16 or f16, see Precision.
struct Round {
    Tensor from;
    Tensor to;  ///< written; same shape

    [[nodiscard]] Work work() const { return moving(to, {from, to}); }
};

/// Fills an f32 tensor with numbers uniform in [-bound, bound), drawn by Philox (Salmon et al. 2011) of (seed,
/// Purpose::initialise, site, element): the upper 24 bits of draw_bits.
struct Initialise {
    Tensor to;  ///< written
    float bound = 0;
    Tensor seed;  ///< u64 per replica
    std::uint32_t site = 0;

    [[nodiscard]] Work work() const { return moving(to, {to}); }
};

/// Samples in a buffer, each with its target. All replicas share them, unless
/// Gather::fold says otherwise. The operations see a feature x as x * scale + shift.
struct Samples {
    const Buffer* buffer = nullptr;
    Tensor features;         ///< f32 or u8 [N, I]
    Tensor targets;          ///< i32 [N, 1], a class; or f32 [N, O], the numbers to predict
    Tensor rows;             ///< i32 [1, count]: the rows of the N that belong to these samples; none: all rows
    std::int64_t count = 0;  ///< number of samples, below 2^31
    float scale = 1;
    float shift = 0;
    /// Each replica has samples of its own, a replica_stride apart, in the order in which they are used: those of one
    /// batch of training, or of one micro-batch of an evaluation. `buffer` is then the stream's own arena, and `rows`
    /// is not used.
    bool staged = false;
};

/// gelu is the exact one, x * Phi(x) with the error function (Hendrycks and Gimpel 2016); silu is x * sigmoid(x)
/// (Elfwing, Uchibe and Doya 2018).
enum class Activation : std::uint8_t { none, relu, gelu, silu };

/// The part of an operation's rows and columns that is valid for each replica. The rest is padding: it lets replicas
/// with different batch sizes and layer widths go through the same operations. Without `batch`, all rows are valid;
/// without `columns`, all columns are.
struct Extent {
    Tensor batch;                   ///< u32 per replica: rows of the whole batch
    Tensor rows;                    ///< u32 per replica: rows of a micro-batch; the last one of a batch has the rest
    std::uint32_t micro_batch = 0;  ///< index of this micro-batch. Its row r is row micro_batch * rows + r of the batch
    Tensor columns{};               ///< u32 per replica: columns [0, columns) are valid
    /// Rows that each of those above stands for: the steps of a sequence, or the pixels of an image.
    std::uint32_t rows_per_sample = 1;

    [[nodiscard]] bool limits_rows() const { return static_cast<bool>(batch); }
};

/// Inverted dropout (Srivastava et al. 2014): an element becomes 0 with `probability` (rounded to a multiple of 2^-16),
/// and is divided by 1 - probability otherwise.
///
/// The random draw of row s of the batch and column c depends on (seed, iteration, site, s, c) alone, so that
/// micro-batches draw as the whole batch would. It has 16 bits, and the element is dropped when they are below
/// probability * 2^16. With q = c mod 128, they are half q mod 2 (0 is the low half) of word q / 32 of
/// draw_block(seed, Purpose::dropout, iteration, block); the low word of `block` is s, its high word is
/// site * 2^16 + c / 128 * 16 + q mod 32 / 2. Vector registers want this order: 16 blocks make 128 columns.
struct Dropout {
    Tensor probability;      ///< per replica; none: no dropout, and the other members are not used
    Tensor seed;             ///< u64 per replica
    Tensor iteration;        ///< u32 per replica
    Tensor mask;             ///< u8 [B, O], written by forward, read by backward; none for relu, which needs none
    std::uint32_t site = 0;  ///< index of the dropout layer in the model
    Extent extent;
};

/// Random changes to images while they are gathered. A feature is (row y, column x, channel) with channels last, so
/// that features = height * width * channels. Row i of a batch draws draw_block(seed, Purpose::augment, iteration, i):
/// words 0 and 1, scaled to [-shift, shift], are the rows and columns by which it is shifted (pixels from outside are
/// 0, before normalisation), and the lowest bit of word 2 says whether it is mirrored first.
struct Augment {
    std::int64_t height = 0;  ///< pixels; 0: no augmentation
    std::int64_t width = 0;   ///< pixels
    std::int64_t shift = 0;   ///< pixels at most, below 2^15
    bool flip = false;        ///< mirror half of the samples, left to right
};

/// Copies B samples into a micro-batch.
///
/// Where `extent` does not limit rows (evaluation), the samples from number `first` on are copied, in their order.
/// Where it does (training), extent.batch samples are drawn in each iteration; count / batch iterations make an epoch,
/// which leaves out the remaining samples. Row i of iteration t is sample (t mod epoch) * batch + i in the EpochOrder
/// of (seed, t / epoch). Padding rows and their targets become 0.
struct Gather {
    /// The part of the samples that each replica works on. Then the k-th part of each tensor of the samples lies
    /// k * replica_stride behind the first (a stride of 0: all parts share it). All are per replica.
    struct Fold {
        Tensor part;   ///< u32: k; none: all replicas share one part, and the other members are not used
        Tensor count;  ///< u32: the number of samples, in place of Samples::count (training only)
        Tensor scale;  ///< in place of Samples::scale
        Tensor shift;  ///< in place of Samples::shift
    };

    Samples samples;
    Tensor output;           ///< [B, I] written; of 16 bits: rounded
    Tensor targets;          ///< [B, columns of the samples' targets] written, in their type
    std::int64_t first = 0;  ///< evaluation only
    // Training only:
    Extent extent;
    Tensor seed;       ///< u64 per replica
    Tensor iteration;  ///< u32 per replica
    Augment augment;
    Fold fold;  ///< in evaluations, too; of staged samples, which lie by replica, only `scale` and `shift` are used

    [[nodiscard]] Work work() const { return moving(output, {output, output, targets}); }
};

/// Precision of the operands of matrix products; sums are float32 always. tf32 rounds operands to 10 bits of mantissa
/// inside the product. For bfloat16 and float16 the operands are 16-bit tensors. The operation that computes a number
/// rounds it (to nearest, ties to even) where it writes to a 16-bit tensor; Round is for all others.
enum class Precision : std::uint8_t { float32, tf32, bfloat16, float16 };

/// The element type of a product's operands: f32, bf16 or f16.
constexpr Type operand_type(Precision precision) {
    return precision == Precision::bfloat16 ? Type::bf16 : precision == Precision::float16 ? Type::f16 : Type::f32;
}

/// A fully connected layer without its bias, which the next operation adds.
struct Linear {
    Tensor input;   ///< [B, I] of operand_type(precision)
    Tensor weight;  ///< [O, I] of operand_type(precision)
    Tensor output;  ///< [B, O] written: input * weight^T
    Precision precision = Precision::float32;

    [[nodiscard]] Work work() const { return multiplying(input.rows, weight, 1, {input, weight, output}); }
};

/// Parts of a layer's weights [rows, columns] for each of which LinearBackward::roots has a number.
constexpr std::int64_t gradient_parts(std::int64_t rows, std::int64_t columns) {
    return (rows + 63) / 64 * ((columns + 63) / 64);
}

struct LinearBackward {
    Tensor output_gradient;  ///< [B, O] of operand_type(precision)
    Tensor input;            ///< [B, I] of operand_type(precision); without weight_gradient for its shape alone
    Tensor weight;           ///< [O, I] of operand_type(precision)
    Tensor weight_gradient;  ///< [O, I] by `write`: output_gradient^T * input; or none
    Tensor input_gradient;   ///< [B, I] written: output_gradient * weight; none for the first layer
    Write write = Write::set;
    Precision precision = Precision::float32;
    /// Only where Stream::updates_in_backward(): the weights are updated with their gradient, which is not written. Its
    /// `update.weights` (or `update.rounded`, in 16 bits) is `weight`, and its `update.gradient` is not used. None:
    /// `weight_gradient` is written.
    const AdamW* adamw = nullptr;
    /// [1, gradient_parts(O, I)], with `adamw` only, written: the norm of these numbers is that of the gradient.
    Tensor roots{};

    [[nodiscard]] Work work() const {
        return multiplying(input.rows, weight, (weight_gradient || adamw ? 1 : 0) + (input_gradient ? 1 : 0),
                           {input, weight, output_gradient, weight_gradient, input_gradient});
    }
};

/// Group normalisation (Wu and He 2018): as layer normalisation, over the pixels of a sample and the channels of a
/// group. N samples of P pixels, C channels in G groups of neighbours.
struct GroupNorm {
    std::int64_t pixels = 1;  ///< P
    std::int64_t groups = 1;  ///< G; divides C, at most `most_groups`
    Tensor input;             ///< [N * P, C]
    Tensor scale;             ///< [1, C]
    Tensor shift;             ///< [1, C]
    Tensor output;            ///< [N * P, C] written
    Tensor mean;              ///< [N, G] written
    Tensor rstd;              ///< [N, G] written: 1 / sqrt(variance + epsilon)
    float epsilon = 1e-5F;

    static constexpr std::int64_t most_groups = 256;

    [[nodiscard]] Work work() const { return moving(output, {input, output}); }
};

struct GroupNormBackward {
    std::int64_t pixels = 1;
    std::int64_t groups = 1;
    Tensor gradient;        ///< [N * P, C] of the output; becomes that of the input
    Tensor input;           ///< [N * P, C]
    Tensor mean;            ///< [N, G]
    Tensor rstd;            ///< [N, G]
    Tensor scale;           ///< [1, C]
    Tensor scale_gradient;  ///< [1, C] by `write`
    Tensor shift_gradient;  ///< [1, C] by `write`
    Tensor sums;            ///< [N, 2 * C] workspace: its content afterwards is not defined
    Write write = Write::set;

    [[nodiscard]] Work work() const { return moving(gradient, {gradient, gradient, input}); }
};

/// The mean over the pixels of each sample ("global average pooling", Lin, Chen and Yan 2014).
struct MeanPixels {
    Tensor input;   ///< [N * P, C]
    Tensor output;  ///< [N, C] written

    [[nodiscard]] Work work() const { return moving(input, {input, output}); }
};

struct MeanPixelsBackward {
    Tensor output_gradient;  ///< [N, C]
    Tensor input_gradient;   ///< [N * P, C] written

    [[nodiscard]] Work work() const { return moving(input_gradient, {output_gradient, input_gradient}); }
};

/// The maximum of each channel in windows of 2 x 2 pixels that do not overlap; at the right and lower border of images
/// with odd sides, of a window's part inside.
struct MaxPixels {
    std::int64_t height = 0;  ///< pixels of the input
    std::int64_t width = 0;   ///< pixels of the input
    Tensor input;             ///< [N * height * width, C]
    Tensor output;            ///< [N * out_pixels(), C] written

    [[nodiscard]] std::int64_t out_pixels() const { return ((height + 1) / 2) * ((width + 1) / 2); }

    [[nodiscard]] Work work() const { return moving(input, {input, output}); }
};

/// The gradient goes to the greatest element of a window, of equal ones to the first.
struct MaxPixelsBackward {
    MaxPixels forward;       ///< its output is not used
    Tensor output_gradient;  ///< [N * out_pixels(), C]
    Tensor input_gradient;   ///< [N * height * width, C] written

    [[nodiscard]] Work work() const { return moving(input_gradient, {forward.input, output_gradient, input_gradient}); }
};

/// a = pre + bias; output = dropout(activation(a)) + skipped.
struct Activate {
    Activation activation = Activation::none;
    /// [B, O]; becomes a, unless it is `output` itself. With relu and an output of 16 bits it becomes the output in
    /// f32, which the backward pass needs.
    Tensor pre;
    Tensor bias;  ///< [1, O], or none
    /// [B, O] written; may be `pre` for none and relu, whose backward does not need `a`. In 16 bits: rounded.
    Tensor output;
    Dropout dropout;
    Tensor activations;  ///< u32 per replica: its Activation, in place of `activation`; `output` must not be `pre` then
    Tensor skipped{};    ///< [B, O]: the input of a residual block; or none, as with an output of 16 bits

    [[nodiscard]] Work work() const { return moving(output, {pre, output, skipped}); }
};

struct ActivateBackward {
    Activation activation = Activation::none;
    Tensor gradient;       ///< [B, O] of the output; becomes that of a. Of 16 bits: rounded, and `incoming` is given
    Tensor pre;            ///< [B, O] a; used by gelu and silu only
    Tensor output;         ///< [B, O] in f32; used by relu only
    Tensor bias_gradient;  ///< [1, O] by `write`: column sums of a's gradient; or none
    Dropout dropout;       ///< as in forward, with its mask
    Write write = Write::set;
    Tensor activations;  ///< as in forward
    Tensor incoming{};   ///< [B, O]: the gradient of the output, where that is not in `gradient`, which is then written

    [[nodiscard]] Work work() const { return moving(gradient, {incoming ? incoming : gradient, gradient, pre}); }
};

/// Layer normalisation (Ba, Kiros and Hinton 2016): a = input + bias; output = (a - mean) * rstd * scale + shift over
/// each row, with the variance divided by the number of valid columns. Padding columns must be 0 in the operands, and
/// are 0 in the results. Without `centred` the mean is taken to be 0: RMS norm (Zhang and Sennrich 2019).
struct LayerNorm {
    Tensor input;   ///< [B, O]; becomes a
    Tensor bias;    ///< [1, O], or none
    Tensor scale;   ///< [1, O]
    Tensor shift;   ///< [1, O], or none
    Tensor output;  ///< [B, O] written
    Tensor mean;    ///< [B, 1] written
    Tensor rstd;    ///< [B, 1] written: 1 / sqrt(variance + epsilon)
    float epsilon = 1e-5F;
    Extent extent;  ///< only `columns` is used
    bool centred = true;

    [[nodiscard]] Work work() const { return moving(output, {input, output}); }
};

struct LayerNormBackward {
    Tensor gradient;        ///< [B, O] of the output; becomes that of a
    Tensor input;           ///< [B, O] a
    Tensor mean;            ///< [B, 1]
    Tensor rstd;            ///< [B, 1]
    Tensor scale;           ///< [1, O]
    Tensor scale_gradient;  ///< [1, O] by `write`
    Tensor shift_gradient;  ///< [1, O] by `write`; or none
    Tensor bias_gradient;   ///< [1, O] by `write`; or none
    Write write = Write::set;
    Extent extent;              ///< as in forward
    bool centred = true;        ///< as in forward
    Tensor skipped_gradient{};  ///< [B, O]: the gradient of a is added to this and `gradient` is left as it is; or none

    [[nodiscard]] Work work() const { return moving(gradient, {gradient, gradient, input, skipped_gradient}); }
};

/// Softmax and cross-entropy against (1 - smoothing) * one-hot + smoothing / C (Szegedy et al. 2016).
struct CrossEntropy {
    Tensor logits;     ///< [B, C]
    Tensor labels;     ///< i32 [B, 1], each in [0, C)
    Tensor smoothing;  ///< per replica
    Tensor loss;       ///< [1, 1] by `write`: weight * the sum over the rows
    Tensor correct;    ///< i32 [1, 1] by `write`: rows whose greatest logit (the first of equals) is the label's
    Tensor gradient;   ///< [B, C] written: the gradient of `loss`, times `scale`; may be `logits`; none: not computed
    float weight = 1;  ///< of a row, or an element; 1 / (rows or elements of the whole batch) makes `loss` a mean
    Write write = Write::set;
    Tensor scale;    ///< per replica; none: 1
    Tensor weights;  ///< per replica: its weight, in place of `weight`
    Extent extent;   ///< padding rows add nothing, and their gradient is 0
    /// f32 [1, C], none: 1 for all. The loss of a row is multiplied by the weight of its label.
    Tensor class_weights;

    [[nodiscard]] Work work() const { return moving(logits, {logits, gradient}); }
};

/// The sum over the columns of the logistic loss of each logit against (1 - smoothing) * label + smoothing / 2. An
/// element is treated as a row by CrossEntropy: `labels` are f32 [B, C], each 0 or 1; `correct` counts elements whose
/// logit is above 0 exactly if the label is 1; the weight of its column multiplies the part that a label of 1 has in an
/// element's loss.
struct BinaryCrossEntropy : CrossEntropy {
    [[nodiscard]] Work work() const { return moving(logits, {logits, labels, gradient}); }
};

/// The squared error, summed over the outputs: its mean over rows and outputs with weight 1 / (rows * outputs).
struct SquaredError {
    Tensor predictions;  ///< [B, O]
    Tensor targets;      ///< f32 [B, O]
    Tensor loss;         ///< [1, 1] by `write`: weight * the sum of (prediction - target)^2
    Tensor absolute;     ///< [1, 1] by `write`: weight * the sum of |prediction - target|
    Tensor gradient;     ///< [B, O] written: of `loss`, times `scale`; may be `predictions`; none: not computed
    float weight = 1;    ///< of an element
    Write write = Write::set;
    Tensor scale;    ///< per replica; none: 1
    Tensor weights;  ///< per replica: its weight, in place of `weight`
    Extent extent;   ///< padding rows add nothing, and their gradient is 0

    [[nodiscard]] Work work() const { return moving(predictions, {predictions, targets, gradient}); }
};

/// The list of all operations: the name that profiles show, and the structure.
#define HPO_OPERATIONS(X)                           \
    X(fill, Fill)                                   \
    X(copy, Copy)                                   \
    X(add, Add)                                     \
    X(round, Round)                                 \
    X(initialise, Initialise)                       \
    X(gather, Gather)                               \
    X(linear, Linear)                               \
    X(linear_backward, LinearBackward)              \
    X(activate, Activate)                           \
    X(activate_backward, ActivateBackward)          \
    X(layer_norm, LayerNorm)                        \
    X(layer_norm_backward, LayerNormBackward)       \
    X(unfold, Unfold)                               \
    X(fold, Fold)                                   \
    X(convolve, Convolve)                           \
    X(convolve_backward, ConvolveBackward)          \
    X(group_norm, GroupNorm)                        \
    X(group_norm_backward, GroupNormBackward)       \
    X(batch_norm, BatchNorm)                        \
    X(batch_norm_backward, BatchNormBackward)       \
    X(mean_pixels, MeanPixels)                      \
    X(mean_pixels_backward, MeanPixelsBackward)     \
    X(max_pixels, MaxPixels)                        \
    X(max_pixels_backward, MaxPixelsBackward)       \
    X(embed, Embed)                                 \
    X(embed_backward, EmbedBackward)                \
    X(embed_columns, EmbedColumns)                  \
    X(embed_columns_backward, EmbedColumnsBackward) \
    X(rotate, Rotate)                               \
    X(attention, Attention)                         \
    X(attention_backward, AttentionBackward)        \
    X(gate, Gate)                                   \
    X(gate_backward, GateBackward)                  \
    X(swap_rows, SwapRows)                          \
    X(gru_step, GruStep)                            \
    X(gru_step_backward, GruStepBackward)           \
    X(lstm_step, LstmStep)                          \
    X(lstm_step_backward, LstmStepBackward)         \
    X(cross_entropy, CrossEntropy)                  \
    X(binary_cross_entropy, BinaryCrossEntropy)     \
    X(squared_error, SquaredError)                  \
    X(gradient_norm, GradientNorm)                  \
    X(adamw, AdamW)                                 \
    X(sgd, Sgd)                                     \
    X(lion, Lion)                                   \
    X(combine, Combine)                             \
    X(average, Average)                             \
    X(advance, Advance)

namespace operations {

template <class, class... All>
struct Listed {
    using Any = std::variant<All...>;
};
#define HPO_OPERATION_TYPE(name, Structure) , Structure
using Any = Listed<void HPO_OPERATIONS(HPO_OPERATION_TYPE)>::Any;
#undef HPO_OPERATION_TYPE

inline constexpr std::string_view names[] = {
#define HPO_OPERATION_NAME(name, Structure) #name,
    HPO_OPERATIONS(HPO_OPERATION_NAME)
#undef HPO_OPERATION_NAME
};

}  // namespace operations

/// Any operation, by value.
using Operation = operations::Any;
static_assert(std::is_trivially_copyable_v<Operation>);  // an operation allocates nothing

constexpr std::string_view name_of(const Operation& operation) { return operations::names[operation.index()]; }
inline Work work_of(const Operation& operation) {
    return std::visit([](const auto& arguments) { return arguments.work(); }, operation);
}

}  // namespace hpo
