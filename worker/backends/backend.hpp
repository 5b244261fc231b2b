// The interface between what is trained and what computes it.
//
// A Device provides memory (Buffer) and queues (Stream). A Stream works on one arena, which is the memory of a fused
// group: K models (replicas) that train side by side, laid out by tensor.hpp before the first step. Nothing is
// allocated after that. Every operation does the same for each replica, and a replica's numbers depend on that replica
// alone. What differs between replicas (learning rate, decay, dropout probability, smoothing, seed, iteration, alive)
// is stored once per replica in the arena: as a 1 x 1 tensor made by Layout::add_per_replica, or as an entry
// (Tensor::at) of a table [1, W] made by Layout::add. What all replicas share is a plain argument.
//
// Operations are enqueued in order; only `read` and `synchronise` wait. The shapes below are those of one replica: B
// rows of a micro-batch, I inputs, O outputs, C classes, P elements of the parameter block, W iterations of a window.
// Elements are f32 unless another type is given. "Written" means that the old content is never read (it may be NaN).
// Inputs and outputs must not overlap unless this is said. A wrong shape is a bug of the caller and is asserted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "hpo/result.hpp"
#include "worker/backends/batch_norm.hpp"
#include "worker/backends/columns.hpp"
#include "worker/backends/convolution.hpp"
#include "worker/backends/optimizers.hpp"
#include "worker/backends/order.hpp"
#include "worker/backends/recurrent.hpp"
#include "worker/backends/sequences.hpp"
#include "worker/backends/tensor.hpp"

namespace hpo {

/// Memory of a device, aligned to `alignment` bytes. The destructor frees it. Must not outlive its device.
class Buffer {
   public:
    virtual ~Buffer() = default;
    [[nodiscard]] virtual std::size_t bytes() const = 0;
};

/// Samples in a buffer, each with its target: what a model is to say of it. All replicas share them, unless
/// Gather::fold says otherwise. The operations see a feature x as x * scale + shift.
struct Samples {
    const Buffer* buffer = nullptr;
    Tensor features;         ///< f32 or u8 [N, I]
    Tensor targets;          ///< i32 [N, 1], a class; or f32 [N, O], the numbers to predict
    Tensor rows;             ///< i32 [1, count]: which of the N rows belong to these samples; none: all of them
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
/// Where `extent` does not limit rows (evaluation), they are the samples from number `first` on, in their order. Where
/// it does (training), extent.batch samples are drawn in each iteration; count / batch iterations make an epoch, and
/// the samples left over rest in it. Row i of iteration t is sample (t mod epoch) * batch + i in the EpochOrder of
/// (seed, t / epoch). Padding rows and their targets become 0.
struct Gather {
    /// The part of the samples that each replica works on. Then the k-th part of each tensor of the samples lies
    /// k * replica_stride behind the first (a stride of 0: all parts share it). All are per replica.
    struct Fold {
        Tensor part;   ///< u32: k; none: all replicas share one part, and the other members are not used
        Tensor count;  ///< u32: the number of samples, in place of Samples::count (training only)
        Tensor scale;  ///< in place of Samples::scale
        Tensor shift;  ///< in place of Samples::shift
    };

    Tensor output;           ///< [B, I] written; of 16 bits: rounded
    Tensor targets;          ///< [B, columns of the samples' targets] written, in their type
    std::int64_t first = 0;  ///< evaluation only
    // Training only:
    Extent extent;
    Tensor seed;       ///< u64 per replica
    Tensor iteration;  ///< u32 per replica
    Augment augment;
    Fold fold;  ///< in evaluations, too; of staged samples, which lie by replica, only `scale` and `shift` are used
};

/// Precision of the operands of matrix products; sums are float32 always. tf32 rounds operands to 10 bits of mantissa
/// inside the product. For bfloat16 and float16 the operands are tensors of such numbers. The operation that computes a
/// number rounds it (to nearest, ties to even) where it writes to such a tensor; `round` is for all others.
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
};

/// The mean over the pixels of each sample ("global average pooling", Lin, Chen and Yan 2014).
struct MeanPixels {
    Tensor input;   ///< [N * P, C]
    Tensor output;  ///< [N, C] written
};

struct MeanPixelsBackward {
    Tensor output_gradient;  ///< [N, C]
    Tensor input_gradient;   ///< [N * P, C] written
};

/// The maximum of each channel in windows of 2 x 2 pixels that do not overlap; at the right and lower border of images
/// with odd sides, of what of a window lies inside.
struct MaxPixels {
    std::int64_t height = 0;  ///< pixels of the input
    std::int64_t width = 0;   ///< pixels of the input
    Tensor input;             ///< [N * height * width, C]
    Tensor output;            ///< [N * out_pixels(), C] written

    [[nodiscard]] std::int64_t out_pixels() const { return ((height + 1) / 2) * ((width + 1) / 2); }
};

/// The gradient goes to the greatest element of a window, of equal ones to the first.
struct MaxPixelsBackward {
    MaxPixels forward;       ///< its output is not used
    Tensor output_gradient;  ///< [N * out_pixels(), C]
    Tensor input_gradient;   ///< [N * height * width, C] written
};

/// a = pre + bias; output = dropout(activation(a)) + skipped.
struct Activate {
    Activation activation = Activation::none;
    /// [B, O]; becomes a, unless it is `output` itself. With relu and an output of 16 bits it becomes the output in
    /// f32, which the backward pass needs.
    Tensor pre;
    Tensor bias;  ///< [1, O], or none
    /// [B, O] written; may be `pre` for none and relu, whose backward does not need `a`. Of 16 bits: rounded.
    Tensor output;
    Dropout dropout;
    Tensor activations;  ///< u32 per replica: its Activation, in place of `activation`; `output` must not be `pre` then
    Tensor skipped{};    ///< [B, O]: what went around a residual block; or none, as with an output of 16 bits
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
};

/// Layer normalisation (Ba, Kiros and Hinton 2016): a = input + bias; output = (a - mean) * rstd * scale + shift over
/// each row, with the variance divided by the number of valid columns. Padding columns must be 0 in what is read, and
/// are 0 in what is written. Without `centred` the mean is taken to be 0: RMS norm (Zhang and Sennrich 2019).
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
};

/// Of cross_entropy: softmax and cross-entropy against (1 - smoothing) * one-hot + smoothing / C (Szegedy et al. 2016).
/// Of binary_cross_entropy: the sum over the columns of the logistic loss of each logit against (1 - smoothing) * label
/// + smoothing / 2.
struct CrossEntropy {
    Tensor logits;     ///< [B, C]
    Tensor labels;     ///< i32 [B, 1], each in [0, C); of binary_cross_entropy f32 [B, C], each 0 or 1
    Tensor smoothing;  ///< per replica
    Tensor loss;       ///< [1, 1] by `write`: weight * the sum over the rows
    Tensor correct;    ///< i32 [1, 1] by `write`: rows whose greatest logit (the first of equals) is the label's; of
                       ///< binary_cross_entropy elements whose logit is above 0 exactly if the label is 1
    Tensor gradient;   ///< [B, C] written: the gradient of `loss`, times `scale`; may be `logits`; none: not computed
    float weight = 1;  ///< of a row, or an element; 1 / (rows or elements of the whole batch) makes `loss` a mean
    Write write = Write::set;
    Tensor scale;    ///< per replica; none: 1
    Tensor weights;  ///< per replica: its weight, in place of `weight`
    Extent extent;   ///< padding rows add nothing, and their gradient is 0
    /// f32 [1, C], none: 1 for all. The loss of a row is multiplied by the weight of its label; of
    /// binary_cross_entropy, the part that a label of 1 has in the loss of an element by the weight of the column.
    Tensor class_weights;
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
};

/// Host memory in two parts, for data that a device does not hold: the host fills one part while the other is copied.
/// Must not outlive its stream.
class Stage {
   public:
    virtual ~Stage() = default;
    /// The part that was sent longest ago; waits until its copy is done. Aligned as Buffers are.
    virtual std::span<std::byte> next() = 0;
    /// Copies the beginning of that part to `to` (all of it, at replica 0), before whatever is enqueued afterwards.
    /// Returns without waiting where the device allows it. Each part has a target of its own: the copy may happen while
    /// what was enqueued since the last `send` computes, which reads the other target.
    virtual void send(const Tensor& to) = 0;
};

/// A queue of operations on one arena. One thread at a time may use it. Must not outlive its arena.
class Stream {
   public:
    virtual ~Stream() = default;

    [[nodiscard]] virtual int replicas() const = 0;
    /// Operations enqueued from now on work on `count` replicas from `first` on only; `first + count` is at most the
    /// number the stream was made for. Copies from and to the host name their replica, whatever is selected.
    virtual void select_replicas(int first, int count) = 0;

    /// Copies `data` to all of one replica of `to`; `data` may be reused on return.
    virtual void write_bytes(const Tensor& to, int replica, std::span<const std::byte> data) = 0;
    /// Waits for what was enqueued before, then copies all of one replica of `from`.
    virtual void read_bytes(const Tensor& from, int replica, std::span<std::byte> data) = 0;
    /// Waits for everything that was enqueued.
    virtual void synchronise() = 0;

    virtual void fill(const Tensor& to, float value) = 0;         ///< f32
    virtual void copy(const Tensor& from, const Tensor& to) = 0;  ///< same shape and type
    /// Copies from another arena of the same device, with all that lies between the replicas: same shape, type and
    /// replica stride. That arena may be freed when this stream has been destroyed or synchronised.
    virtual void copy_from(const Buffer& arena, const Tensor& from, const Tensor& to) = 0;
    virtual void add(const Tensor& from, const Tensor& to) = 0;  ///< f32, same shape: to += from
    /// Rounds f32 to bf16 or f16, see Precision; same shape.
    virtual void round(const Tensor& from, const Tensor& to) = 0;
    /// Fills an f32 tensor with numbers uniform in [-bound, bound), drawn by Philox (Salmon et al. 2011) of (seed,
    /// Purpose::initialise, site, element): the upper 24 bits of draw_bits. `seed`: u64 per replica.
    virtual void initialise(const Tensor& to, float bound, const Tensor& seed, std::uint32_t site) = 0;

    virtual void gather(const Samples& samples, const Gather& arguments) = 0;
    virtual void linear(const Linear& arguments) = 0;
    virtual void linear_backward(const LinearBackward& arguments) = 0;
    /// Whether linear_backward takes LinearBackward::adamw.
    [[nodiscard]] virtual bool updates_in_backward() const { return false; }
    virtual void activate(const Activate& arguments) = 0;
    virtual void activate_backward(const ActivateBackward& arguments) = 0;
    virtual void layer_norm(const LayerNorm& arguments) = 0;
    virtual void layer_norm_backward(const LayerNormBackward& arguments) = 0;
    virtual void unfold(const Unfold& arguments) = 0;
    virtual void fold(const Fold& arguments) = 0;
    /// Whether `convolve` and `convolve_backward` are there. Otherwise products of unfolded patches are faster.
    [[nodiscard]] virtual bool convolves() const { return false; }
    virtual void convolve(const Convolve& /*arguments*/) { assert(false); }
    virtual void convolve_backward(const ConvolveBackward& /*arguments*/) { assert(false); }
    virtual void group_norm(const GroupNorm& arguments) = 0;
    virtual void group_norm_backward(const GroupNormBackward& arguments) = 0;
    virtual void batch_norm(const BatchNorm& arguments) = 0;
    virtual void batch_norm_backward(const BatchNormBackward& arguments) = 0;
    virtual void mean_pixels(const MeanPixels& arguments) = 0;
    virtual void mean_pixels_backward(const MeanPixelsBackward& arguments) = 0;
    virtual void max_pixels(const MaxPixels& arguments) = 0;
    virtual void max_pixels_backward(const MaxPixelsBackward& arguments) = 0;
    virtual void embed(const Embed& arguments) = 0;
    virtual void embed_backward(const EmbedBackward& arguments) = 0;
    virtual void embed_columns(const EmbedColumns& arguments) = 0;
    virtual void embed_columns_backward(const EmbedColumnsBackward& arguments) = 0;
    virtual void rotate(const Rotate& arguments) = 0;
    virtual void attention(const Attention& arguments) = 0;
    virtual void attention_backward(const AttentionBackward& arguments) = 0;
    virtual void gate(const Gate& arguments) = 0;
    virtual void gate_backward(const GateBackward& arguments) = 0;
    virtual void swap_rows(const SwapRows& arguments) = 0;
    virtual void gru_step(const GruStep& arguments) = 0;
    virtual void gru_step_backward(const GruStepBackward& arguments) = 0;
    virtual void lstm_step(const LstmStep& arguments) = 0;
    virtual void lstm_step_backward(const LstmStepBackward& arguments) = 0;
    virtual void cross_entropy(const CrossEntropy& arguments) = 0;
    virtual void binary_cross_entropy(const CrossEntropy& arguments) = 0;
    virtual void squared_error(const SquaredError& arguments) = 0;
    virtual void gradient_norm(const GradientNorm& arguments) = 0;
    virtual void adamw(const AdamW& arguments) = 0;
    virtual void sgd(const Sgd& arguments) = 0;
    virtual void lion(const Lion& arguments) = 0;
    virtual void combine(const Combine& arguments) = 0;
    virtual void average(const Average& arguments) = 0;
    virtual void advance(const Advance& arguments) = 0;

    /// Host memory in two parts of `bytes` bytes each. Throws std::bad_alloc.
    virtual std::unique_ptr<Stage> stage(std::size_t bytes) = 0;

    /// Runs `operations`, which must enqueue the same operations with the same arguments each time it is given with
    /// this `name` and the same selected replicas: only the content of the arena may differ. It must not copy from or
    /// to the host. A device with graphs records them the second time and replays the recording from then on, without
    /// calling `operations`.
    virtual void repeat(std::uint64_t /*name*/, const std::function<void()>& operations) { operations(); }

    // Copies of numbers; T must be the tensor's type.
    template <class T>
    void write(const Tensor& to, int replica, std::span<const T> values) {
        assert(to.type == type_of<T>());
        write_bytes(to, replica, std::as_bytes(values));
    }
    template <class T>
    void write(const Tensor& to, int replica, T value) {
        write(to, replica, std::span<const T>(&value, 1));
    }
    template <class T>
    void read(const Tensor& from, int replica, std::span<T> values) {
        assert(from.type == type_of<T>());
        read_bytes(from, replica, std::as_writable_bytes(values));
    }
    template <class T>
    T read(const Tensor& from, int replica) {
        T value{};
        read(from, replica, std::span<T>(&value, 1));
        return value;
    }
};

/// Thrown when a device failed while it computed. Nothing on it can be trusted any more: the process must end, so that
/// its trials are tried again by another.
class DeviceLost : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Thrown when a device has less free memory than an operation needs. The trial does not fit now; the device is fine.
class DeviceFull : public std::bad_alloc {
   public:
    explicit DeviceFull(const std::string& message) : message_(message) {}
    [[nodiscard]] const char* what() const noexcept override { return message_.what(); }

   private:
    std::runtime_error message_;  ///< its copies do not throw
};

/// What memory a device's buffers are taken from.
struct DeviceMemory {
    bool of_its_own = false;        ///< the device's; otherwise the process's
    bool shared_with_host = false;  ///< the device's, which is the host's too: integrated GPUs, PoCL
    std::size_t total_bytes = 0;    ///< of the device, for all programs; 0: not known
    std::size_t context_bytes = 0;  ///< of the device, taken already by context, code and libraries, as measured
    std::size_t granularity = 1;    ///< an allocation takes a multiple of this number of bytes
    std::size_t largest_piece = 0;  ///< bytes of one allocation at most; 0: no limit

    /// Bytes that an allocation of `bytes` takes.
    [[nodiscard]] std::size_t taken_by(std::size_t bytes) const {
        return (bytes + granularity - 1) / granularity * granularity;
    }
};

/// A device's memory at this moment, over all programs. Bytes.
struct MemoryLeft {
    std::size_t free = 0;
    std::size_t total = 0;
};

/// A processor that trains. Any thread may call its methods.
class Device {
   public:
    virtual ~Device() = default;

    [[nodiscard]] virtual std::string_view backend() const = 0;  ///< cpu, opencl or cuda
    [[nodiscard]] virtual std::string name() const = 0;  ///< backend and what it runs on: "cpu, x86-64-v4, SkylakeX"
    /// The version of the device's driver. Empty: it has none, or the driver does not tell.
    [[nodiscard]] virtual std::string driver() const { return {}; }
    /// A warning: why the device is slower than it could be, and the cure. Empty: nothing is wrong.
    [[nodiscard]] virtual std::string remark() const { return {}; }
    /// What multiplies matrices, with its version and file, or why it is not the usual library. Empty: `name` says it.
    [[nodiscard]] virtual std::string products() const { return {}; }
    [[nodiscard]] virtual DeviceMemory memory() const { return {}; }
    /// Measures context_bytes again: drivers load code and take workspaces when these are first used.
    virtual void measure_context() {}
    /// How many trials may train side by side at most; 1 where this gains nothing.
    [[nodiscard]] virtual int slots() const { return 1; }
    /// Free memory of the device; nothing where its driver does not tell.
    [[nodiscard]] virtual std::optional<MemoryLeft> memory_left() { return {}; }
    /// Computes on these cores of the host from now on, with a thread each, to the same results: see ThreadPool. Not
    /// while an operation runs. Devices that compute elsewhere ignore it.
    virtual void use_cores(std::span<const int> /*cores*/) {}
    /// Number of launches handed to the driver so far (a graph counts as one); 0: they are not counted.
    [[nodiscard]] virtual std::uint64_t launches() const { return 0; }
    /// Bytes that the device writes and reads again soon at full speed: operations that need much temporary memory work
    /// on parts of such a size. Half of a usual second-level cache; on a GPU, enough to keep all its cores busy.
    [[nodiscard]] virtual std::int64_t part_bytes() const { return std::int64_t{1} << 19; }
    /// Bytes of the device's memory that a stream takes in addition to its arena.
    [[nodiscard]] virtual std::size_t stream_bytes(int /*replicas*/) const { return 0; }
    /// Whether the device multiplies in this precision; the error says why not.
    [[nodiscard]] virtual Result<void> computes_in(Precision precision) const = 0;
    /// Zeroed memory of exactly this many bytes. The error says how much was missing.
    virtual Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) = 0;
    /// `arena` and the tensors of every operation must come from one Layout of `replicas` replicas. Throws DeviceFull
    /// where stream_bytes cannot be allocated.
    virtual std::unique_ptr<Stream> stream(Buffer& arena, int replicas) = 0;
};

}  // namespace hpo
