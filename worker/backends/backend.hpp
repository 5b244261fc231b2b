// The seam between what is trained and what computes it.
//
// A Device gives memory (Buffer) and queues (Stream). A Stream works on one arena: the memory of one group of K trials
// of one shape, its lanes, laid out by tensor.hpp before the first step; nothing is allocated after that. Every
// operation does the same for each lane: a lane's numbers depend on that lane alone. What differs between the lanes
// (learning rate, decay, dropout probability, smoothing, seed, iteration, alive) is an array of K in the arena: a
// tensor of 1 x 1 made by Layout::add_lane_array, or an entry (Tensor::at) of a table [1, H] made by Layout::add. What
// they share is an argument.
//
// Operations are enqueued in order; only `read` and `synchronise` wait. Shapes below are of one lane: B samples of a
// batch, I inputs, O outputs, C classes, P elements of the parameter block; f32 unless said. "Written": the old content
// does not matter (it may be NaN). Inputs and outputs may not overlap unless said. A wrong shape is a bug: asserted.
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
#include "worker/backends/order.hpp"
#include "worker/backends/tensor.hpp"

namespace hpo {

/// Memory of a device, aligned as `alignment` says. Freed with the object, which must not outlive its device.
class Buffer {
   public:
    virtual ~Buffer() = default;
    [[nodiscard]] virtual std::size_t bytes() const = 0;
};

/// Labelled samples in a buffer of their own, shared by all lanes. A feature is x * scale + shift.
struct Samples {
    const Buffer* buffer = nullptr;
    Tensor features;         ///< f32 or u8 [N, I]
    Tensor labels;           ///< i32 [N, 1]
    Tensor rows;             ///< i32 [1, count]: which of the N rows these samples are; none: all of them
    std::int64_t count = 0;  ///< samples, below 2^31
    float scale = 1;
    float shift = 0;
    /// Each lane has samples of its own, a lane_stride apart, that lie in the order in which they are taken: of a
    /// batch, or of a pass of an evaluation. `buffer` is then the stream's own arena, and there are no `rows`.
    bool staged = false;
};

/// Whether an operation writes a gradient or adds to it (micro-batches after the first).
enum class Write : std::uint8_t { set, add };

/// gelu is the exact one, x * Phi(x) with the error function; silu is x * sigmoid(x).
enum class Activation : std::uint8_t { none, relu, gelu, silu };

/// Which samples of their batches the rows of a pass are: row r is sample index * rows + r of the lane's batch. Rows
/// beyond the lane's are padding, so that batches of different sizes go through the same operations. None: all rows are
/// the lane's, from 0 on.
struct Pass {
    Tensor batch;             ///< lane array u32: samples of the batch
    Tensor rows;              ///< lane array u32: samples of a pass; the last of a batch has what is left
    std::uint32_t index = 0;  ///< counted from 0

    explicit operator bool() const { return static_cast<bool>(batch); }
};

/// Inverted dropout: an element is 0 with `probability` (rounded to a multiple of 2^-16), else divided by what remains.
/// The draw of sample s of the batch and column c depends on (seed, iteration, site, s, c) alone: micro-batches draw as
/// the whole batch would. It is 16 bits, dropped when below probability * 2^16: with q = c mod 128, half q mod 2 (0:
/// the low one) of word q / 32 of draw_block(seed, Purpose::dropout, iteration, block), where block's low word is s and
/// its high word site * 2^16 + c / 128 * 16 + q mod 32 / 2. Laid out for vectors: 16 blocks make 128 columns.
struct Dropout {
    Tensor probability;      ///< lane array; default: no dropout, the rest is not looked at
    Tensor seed;             ///< lane array u64
    Tensor iteration;        ///< lane array u32
    Tensor mask;             ///< u8 [B, O], written by forward, read by backward; none for relu, which needs none
    std::uint32_t site = 0;  ///< which dropout of the model this is
    Pass pass;
};

/// Changes to images as they are gathered; height 0: none. A feature is (row y, column x, channel) with channels last:
/// features = height * width * channels. Sample i of a batch draws draw_block(seed, Purpose::augment, iteration, i):
/// words 0 and 1, scaled to [-shift, shift], say by how many rows and columns it is shifted (what comes in from outside
/// is 0, before normalisation), the lowest bit of word 2 whether it is mirrored first.
struct Augment {
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::int64_t shift = 0;  ///< pixels at most, below 2^15
    bool flip = false;       ///< half of the samples are mirrored, left to right
};

/// B samples. Without a pass: as they lie, from number `first` on. With one, those of a batch of training: pass.batch
/// samples are drawn in each iteration, count / batch iterations make an epoch (what is left over rests in it), and
/// sample i of iteration t is number (t mod epoch) * batch + i in the EpochOrder of (seed, t / epoch). Padding becomes
/// rows of 0 with label 0.
struct Gather {
    Tensor output;           ///< [B, I] written
    Tensor labels;           ///< i32 [B, 1] written
    std::int64_t first = 0;  ///< without a pass
    // With one:
    Pass pass;
    Tensor seed;       ///< lane array u64
    Tensor iteration;  ///< lane array u32
    Augment augment;
};

/// Of matrix products; all sums are of float32. tf32: operands rounded to 10 bits of mantissa on the way. bfloat16 and
/// float16: operands rounded (to nearest, ties to even) into tensors of their own first, which the products read.
enum class Precision : std::uint8_t { float32, tf32, bfloat16, float16 };

/// What a product's operands are kept in: f32, bf16 or f16.
constexpr Type operand_type(Precision precision) {
    return precision == Precision::bfloat16 ? Type::bf16 : precision == Precision::float16 ? Type::f16 : Type::f32;
}

struct Linear {
    Tensor input;   ///< [B, I]
    Tensor weight;  ///< [O, I]
    Tensor output;  ///< [B, O] written: input * weight^T. The bias comes with the next operation
    Precision precision = Precision::float32;
    // Of operand_type, where that is not f32:
    Tensor rounded_input;   ///< [B, I] written
    Tensor rounded_weight;  ///< [O, I] written
};

struct LinearBackward {
    Tensor output_gradient;  ///< [B, O]
    Tensor input;            ///< [B, I]
    Tensor weight;           ///< [O, I]
    Tensor weight_gradient;  ///< [O, I] by `write`: output_gradient^T * input
    Tensor input_gradient;   ///< [B, I] written: output_gradient * weight; none for the first layer
    Write write = Write::set;
    Precision precision = Precision::float32;
    Tensor rounded_gradient;  ///< [B, O] written
    Tensor rounded_input;     ///< [B, I] as `linear` left it
    Tensor rounded_weight;    ///< [O, I] as `linear` left it
};

/// a = pre + bias; output = dropout(activation(a)).
struct Activate {
    Activation activation = Activation::none;
    Tensor pre;     ///< [B, O]; becomes a, unless it is `output` itself
    Tensor bias;    ///< [1, O], or none
    Tensor output;  ///< [B, O] written; may be `pre` for none and relu, which need no `a` backward
    Dropout dropout;
    Tensor own;  ///< lane array u32: each lane's Activation, instead of `activation`; `output` is then not `pre`
};

struct ActivateBackward {
    Activation activation = Activation::none;
    Tensor gradient;       ///< [B, O] of the output; becomes that of a
    Tensor pre;            ///< [B, O] a; looked at by gelu and silu alone
    Tensor output;         ///< [B, O]; looked at by relu alone
    Tensor bias_gradient;  ///< [1, O] by `write`: column sums of a's gradient; or none
    Dropout dropout;       ///< as forward, with its mask
    Write write = Write::set;
    Tensor own;  ///< as forward
};

/// a = input + bias; output = (a - mean) * rstd * scale + shift over each row (Ba, Kiros, Hinton 2016); variance with
/// 1/O. With `own`, a row is a lane's first columns; the others are padding: 0 in what is read, and in what is written.
struct LayerNorm {
    Tensor input;   ///< [B, O]; becomes a
    Tensor bias;    ///< [1, O]
    Tensor scale;   ///< [1, O]
    Tensor shift;   ///< [1, O]
    Tensor output;  ///< [B, O] written
    Tensor mean;    ///< [B, 1] written
    Tensor rstd;    ///< [B, 1] written: 1 / sqrt(variance + epsilon)
    float epsilon = 1e-5F;
    Tensor own;  ///< lane array u32: columns; none: O
};

struct LayerNormBackward {
    Tensor gradient;        ///< [B, O] of the output; becomes that of a
    Tensor input;           ///< [B, O] a
    Tensor mean;            ///< [B, 1]
    Tensor rstd;            ///< [B, 1]
    Tensor scale;           ///< [1, O]
    Tensor scale_gradient;  ///< [1, O] by `write`
    Tensor shift_gradient;  ///< [1, O] by `write`
    Tensor bias_gradient;   ///< [1, O] by `write`
    Write write = Write::set;
    Tensor own;  ///< as forward
};

/// Softmax and cross-entropy against (1 - smoothing) * one-hot + smoothing / C.
struct CrossEntropy {
    Tensor logits;     ///< [B, C]
    Tensor labels;     ///< i32 [B, 1], each in [0, C)
    Tensor smoothing;  ///< lane array
    Tensor loss;       ///< [1, 1] by `write`: weight * the sum over the rows
    Tensor correct;    ///< i32 [1, 1] by `write`: rows whose greatest logit (the first of equals) is the label's
    Tensor gradient;   ///< [B, C] written, that of `loss`, times `scale`; may be `logits`; none: not wanted
    float weight = 1;  ///< 1 / (samples of the whole batch) for a mean
    Write write = Write::set;
    Tensor scale;    ///< lane array; none: 1
    Tensor weights;  ///< lane array: each lane's weight, instead of `weight`
    Pass pass;       ///< padding counts for nothing; its gradient is 0
};

/// Dynamic loss scaling (Micikevicius et al., "Mixed precision training", ICLR 2018), for gradients that float16 would
/// lose: the loss's gradient is multiplied by `scale`, and the parameters' divided by it. One that is not finite is no
/// update, and halves the scale (to 1 at least); after `growth` updates without one it doubles (to 2^24 at most).
struct LossScale {
    static constexpr float first = 65536;
    static constexpr float growth = 2000;

    Tensor scale;  ///< lane array; default: there is none, the rest is not looked at
    Tensor good;   ///< lane array, f32 as the scale: updates since it changed
    Tensor valid;  ///< lane array u8, written: 0 where the update is to be left out
};

/// norm = |gradient| / scale; factor = (limit > 0 and norm > limit ? limit / norm : 1) / scale. With a scale, norm and
/// factor of a gradient that is not finite are 0.
struct GradientNorm {
    Tensor gradient;  ///< [1, P]
    Tensor limit;     ///< lane array
    Tensor norm;      ///< [1, 1] written
    Tensor factor;    ///< [1, 1] written, for the optimizers
    LossScale scaling;
};

/// The parameter block of each lane and what updates it. Lanes that are not alive keep their weights and state.
struct Update {
    Tensor weights;            ///< [1, P] updated
    Tensor gradient;           ///< [1, P]
    std::int64_t decayed = 0;  ///< elements [0, decayed) are subject to weight decay
    Tensor learning_rates;     ///< [1, W]
    Tensor slot;               ///< lane array u32: which of the rates; none: the first
    Tensor weight_decay;       ///< lane array
    Tensor factor;             ///< [1, 1] the gradient is multiplied by this; none: 1
    Tensor alive;              ///< lane array u8
    Tensor valid;              ///< lane array u8: 0 as if not alive; none: 1
};

/// Loshchilov and Hutter 2019, as torch.optim.AdamW: w -= lr * decay * w, then
/// w -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon) with t = iteration + 1.
struct AdamW {
    Update update;
    Tensor first_moment;   ///< [1, P] updated; 0 at the start
    Tensor second_moment;  ///< [1, P] updated; 0 at the start
    Tensor beta1;          ///< lane array
    Tensor beta2;          ///< lane array
    Tensor epsilon;        ///< lane array
    Tensor iteration;      ///< lane array u32: updates done before this one
};

/// As torch.optim.SGD: g += decay * w; velocity = momentum * velocity + g; w -= lr * (nesterov ? g + momentum *
/// velocity : velocity).
struct Sgd {
    Update update;
    Tensor velocity;  ///< [1, P] updated; 0 at the start
    Tensor momentum;  ///< lane array
    bool nesterov = false;
};

/// The last operation of an update. What the host says and hears of W updates lies in tables, so that it comes by once
/// for all of them, and an update is the same operations each time.
struct Advance {
    Tensor iteration;  ///< lane array u32: += 1 where alive
    Tensor alive;      ///< lane array u8
    Tensor slot;       ///< lane array u32, below W: += 1; none: there are no tables
    Tensor loss;       ///< [1, 1]
    Tensor norm;       ///< [1, 1]
    Tensor losses;     ///< [1, W]: entry `slot` written, with the loss
    Tensor norms;      ///< [1, W]: entry `slot` written, with the norm
};

/// Memory of the host in two parts, for what a device does not hold: while one part is on its way, the next is filled.
/// Must not outlive its stream.
class Stage {
   public:
    virtual ~Stage() = default;
    /// The part that was sent longest ago; waits until it has been read. Aligned as Buffers are.
    virtual std::span<std::byte> next() = 0;
    /// Copies its beginning to all of `to`, lane 0's place, for what is enqueued afterwards. Returns at once where it
    /// can.
    virtual void send(const Tensor& to) = 0;
};

/// A queue of operations on one arena. Used by one thread at a time; must not outlive its arena.
class Stream {
   public:
    virtual ~Stream() = default;

    [[nodiscard]] virtual int lanes() const = 0;
    /// What is enqueued from now on does `count` lanes from lane `first` on alone, 1 to as many as the stream was made
    /// for. Copies from and to the host name their lane, whichever these are.
    virtual void set_lanes(int first, int count) = 0;

    /// Copies `data` to one lane of `to`, all of it; `data` may be reused on return.
    virtual void write_bytes(const Tensor& to, int lane, std::span<const std::byte> data) = 0;
    /// Waits for what was enqueued before, then copies one lane of `from`, all of it.
    virtual void read_bytes(const Tensor& from, int lane, std::span<std::byte> data) = 0;
    virtual void synchronise() = 0;

    virtual void fill(const Tensor& to, float value) = 0;         ///< f32
    virtual void copy(const Tensor& from, const Tensor& to) = 0;  ///< same shape and type
    /// f32, uniform in [-bound, bound) by Philox of (seed, Purpose::initialise, site, element): the upper
    /// 24 bits of draw_bits; seed: lane array u64.
    virtual void initialise(const Tensor& to, float bound, const Tensor& seed, std::uint32_t site) = 0;

    virtual void gather(const Samples& samples, const Gather& arguments) = 0;
    virtual void linear(const Linear& arguments) = 0;
    virtual void linear_backward(const LinearBackward& arguments) = 0;
    virtual void activate(const Activate& arguments) = 0;
    virtual void activate_backward(const ActivateBackward& arguments) = 0;
    virtual void layer_norm(const LayerNorm& arguments) = 0;
    virtual void layer_norm_backward(const LayerNormBackward& arguments) = 0;
    virtual void cross_entropy(const CrossEntropy& arguments) = 0;
    virtual void gradient_norm(const GradientNorm& arguments) = 0;
    virtual void adamw(const AdamW& arguments) = 0;
    virtual void sgd(const Sgd& arguments) = 0;
    virtual void advance(const Advance& arguments) = 0;

    /// Two parts of so many bytes.
    virtual std::unique_ptr<Stage> stage(std::size_t bytes) = 0;

    /// Does what `operations` enqueues, which must be the same operations with the same arguments each time it is given
    /// with this `name` and these lanes: only what lies in the arena may differ. Where the device has graphs
    /// they are recorded and launched as one from the third time on, without asking `operations`. No copies from and to
    /// the host in it.
    virtual void repeat(std::uint64_t /*name*/, const std::function<void()>& operations) { operations(); }

    // The same for numbers rather than bytes.
    template <class T>
    void write(const Tensor& to, int lane, std::span<const T> values) {
        assert(to.type == type_of<T>());
        write_bytes(to, lane, std::as_bytes(values));
    }
    template <class T>
    void write(const Tensor& to, int lane, T value) {
        write(to, lane, std::span<const T>(&value, 1));
    }
    template <class T>
    void read(const Tensor& from, int lane, std::span<T> values) {
        assert(from.type == type_of<T>());
        read_bytes(from, lane, std::as_writable_bytes(values));
    }
    template <class T>
    T read(const Tensor& from, int lane) {
        T value{};
        read(from, lane, std::span<T>(&value, 1));
        return value;
    }
};

/// A device that failed while it computed. Nothing on it can be trusted: the process is to end, so that its trial is
/// tried again.
class DeviceLost : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Less memory on a device than what it was to do needs. The trial does not fit now; the device goes on.
class DeviceFull : public std::bad_alloc {
   public:
    explicit DeviceFull(const std::string& message) : words_(message) {}
    [[nodiscard]] const char* what() const noexcept override { return words_.what(); }

   private:
    std::runtime_error words_;
};

/// Whose memory a device's buffers take.
struct DeviceMemory {
    bool of_its_own = false;        ///< the device's; else the process's
    bool shared_with_host = false;  ///< the device's, which is the host's too: integrated GPUs, PoCL
    std::size_t total_bytes = 0;    ///< of its own, of all programs; 0: not known
    std::size_t context_bytes = 0;  ///< of its own, taken already: context, code and libraries, as measured
    std::size_t granularity = 1;    ///< an allocation takes a multiple of so many bytes
    std::size_t largest_piece = 0;  ///< bytes of one allocation at most; 0: as many as there are

    /// Bytes that an allocation takes of it.
    [[nodiscard]] std::size_t taken_by(std::size_t bytes) const {
        return (bytes + granularity - 1) / granularity * granularity;
    }
};

/// Memory at this moment, all programs together. Bytes.
struct MemoryLeft {
    std::size_t free = 0;
    std::size_t total = 0;
};

/// Something that computes. Its methods may be called by any thread.
class Device {
   public:
    virtual ~Device() = default;

    [[nodiscard]] virtual std::string_view backend() const = 0;  ///< cpu, opencl or cuda
    [[nodiscard]] virtual std::string name() const = 0;  ///< backend and what it runs on: "cpu, x86-64-v4, SkylakeX"
    /// Why it is slower than it could be, and the cure: worth a warning; empty: it is not.
    [[nodiscard]] virtual std::string remark() const { return {}; }
    [[nodiscard]] virtual DeviceMemory memory() const { return {}; }
    /// Measures context_bytes anew: drivers load code and take workspaces when these are first used.
    virtual void measure_context() {}
    /// Trials of a small model that train side by side here with profit; 1: they would only share what one could have.
    [[nodiscard]] virtual int slots() const { return 1; }
    /// Of a device's own memory, where its driver tells.
    [[nodiscard]] virtual std::optional<MemoryLeft> memory_left() { return {}; }
    /// Launches handed to the driver so far, a graph counted as one; 0: nobody counts.
    [[nodiscard]] virtual std::uint64_t launches() const { return 0; }
    /// What a stream takes of the device's memory besides its arena.
    [[nodiscard]] virtual std::size_t stream_bytes(int /*lanes*/) const { return 0; }
    /// Whether it multiplies in this precision; an error says why not.
    [[nodiscard]] virtual Result<void> computes_in(Precision precision) const = 0;
    /// Zeroed memory of exactly so many bytes. Fails when there is not enough.
    virtual Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) = 0;
    /// `arena` and the tensors of every operation come from one Layout of `lanes` lanes. Throws DeviceFull where
    /// stream_bytes are not to be had.
    virtual std::unique_ptr<Stream> stream(Buffer& arena, int lanes) = 0;
};

}  // namespace hpo
