#include "worker/backends/cpu/cpu_stream.hpp"

#include <cblas.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>

namespace hpo {
namespace {

/// Dense row-major C [m, n] = or += op(A) * op(B).
void multiply(CBLAS_TRANSPOSE a_form, CBLAS_TRANSPOSE b_form, std::int64_t m, std::int64_t n, std::int64_t k,
              const float* a, const float* b, float* c, Write write) {
    const auto extent = [](std::int64_t number) { return static_cast<blasint>(number); };
    cblas_sgemm(CblasRowMajor, a_form, b_form, extent(m), extent(n), extent(k), 1.0F, a,
                extent(a_form == CblasNoTrans ? k : m), b, extent(b_form == CblasNoTrans ? n : k),
                write == Write::add ? 1.0F : 0.0F, c, extent(n));
}

std::uint32_t low_word(std::uint64_t seed) { return static_cast<std::uint32_t>(seed); }
std::uint32_t high_word(std::uint64_t seed) { return static_cast<std::uint32_t>(seed >> 32); }

}  // namespace

template <class T>
T* CpuStream::at(const Tensor& tensor, int lane) const {
    if (!tensor) return nullptr;
    assert(tensor.type == type_of<std::remove_const_t<T>>());
    const std::size_t offset = tensor.offset + static_cast<std::size_t>(lane) * tensor.lane_stride;
    assert(offset + tensor.bytes() <= arena_.bytes());
    return reinterpret_cast<T*>(arena_.data() + offset);
}

template <class T>
T CpuStream::value(const Tensor& tensor, int lane) const {
    assert(tensor.elements() == 1);
    return *at<T>(tensor, lane);
}

CpuStream::Rows CpuStream::rows_of(const Pass& pass, int lane, std::int64_t rows) const {
    if (!pass) return {0, rows};
    const std::int64_t most = value<std::uint32_t>(pass.rows, lane);
    const std::int64_t first = pass.index * most;
    return {first, std::clamp<std::int64_t>(value<std::uint32_t>(pass.batch, lane) - first, 0, std::min(most, rows))};
}

std::size_t CpuStream::kernel_of(Activation activation, const Tensor& own, int lane) const {
    return own ? value<std::uint32_t>(own, lane) : static_cast<std::size_t>(activation);
}

std::int64_t CpuStream::own_columns(const Tensor& own, int lane, std::int64_t columns) const {
    return own ? value<std::uint32_t>(own, lane) : columns;
}

DropoutDraw CpuStream::draw(const Dropout& dropout, int lane) const {
    if (!dropout.probability) return {};
    const float probability = value(dropout.probability, lane);
    const auto threshold = static_cast<std::uint32_t>(std::lround(probability * 65536.0F));
    assert(threshold < 65536);
    const auto seed = value<std::uint64_t>(dropout.seed, lane);
    return {.threshold = threshold,
            .scale = 65536.0F / static_cast<float>(65536 - threshold),
            .key0 = low_word(seed),
            .key1 = high_word(seed),
            .iteration = value<std::uint32_t>(dropout.iteration, lane),
            .site = dropout.site,
            .first_row = static_cast<std::uint32_t>(rows_of(dropout.pass, lane, 0).first),
            .mask = at<std::uint8_t>(dropout.mask, lane)};
}

void CpuStream::prepare(const Tensor& target, int lane, Write write) const {
    if (!target || write == Write::add) return;
    std::memset(arena_.data() + target.offset + static_cast<std::size_t>(lane) * target.lane_stride, 0, target.bytes());
}

void CpuStream::write_bytes(const Tensor& to, int lane, std::span<const std::byte> data) {
    assert(data.size() == to.bytes());
    std::memcpy(arena_.data() + to.offset + static_cast<std::size_t>(lane) * to.lane_stride, data.data(), data.size());
}

void CpuStream::read_bytes(const Tensor& from, int lane, std::span<std::byte> data) {
    assert(data.size() == from.bytes());
    std::memcpy(data.data(), arena_.data() + from.offset + static_cast<std::size_t>(lane) * from.lane_stride,
                data.size());
}

void CpuStream::fill(const Tensor& to, float value) {
    for (int lane = first_; lane < end_; ++lane) {
        float* target = at(to, lane);
        for (std::int64_t i = 0; i < to.elements(); ++i) target[i] = value;
    }
}

void CpuStream::copy(const Tensor& from, const Tensor& to) {
    assert(from.elements() == to.elements() && from.type == to.type);
    for (int lane = first_; lane < end_; ++lane)
        std::memcpy(arena_.data() + to.offset + static_cast<std::size_t>(lane) * to.lane_stride,
                    arena_.data() + from.offset + static_cast<std::size_t>(lane) * from.lane_stride, from.bytes());
}

void CpuStream::initialise(const Tensor& to, float bound, const Tensor& seed, std::uint32_t site) {
    for (int lane = first_; lane < end_; ++lane) {
        const auto key = value<std::uint64_t>(seed, lane);
        kernels_.initialise(to.elements(), bound, low_word(key), high_word(key), site, at(to, lane));
    }
}

namespace {

/// The rows of `samples` that a lane's pass takes, some at a time.
class Picked {
   public:
    static constexpr std::int64_t at_once = 256;

    Picked(const Samples& samples, const std::byte* source, std::int64_t first)
        : rows_(samples.rows ? reinterpret_cast<const std::int32_t*>(source + samples.rows.offset) : nullptr),
          first_(first) {}
    /// From sample `first` of batch `iteration` on.
    Picked(const Samples& samples, const std::byte* source, std::int64_t first, std::int64_t batch, std::uint64_t seed,
           std::uint32_t iteration)
        : Picked(samples, source, iteration % (samples.count / batch) * batch + first) {
        order_.emplace(seed, iteration / (samples.count / batch), static_cast<std::uint32_t>(samples.count));
    }

    const std::int32_t* from(std::int64_t begin, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            const auto position = static_cast<std::uint32_t>(first_ + begin + i);
            const std::uint32_t sample = order_ ? order_->at(position) : position;
            picked_[static_cast<std::size_t>(i)] = rows_ ? rows_[sample] : static_cast<std::int32_t>(sample);
        }
        return picked_.data();
    }

   private:
    const std::int32_t* rows_;
    std::int64_t first_;
    std::optional<EpochOrder> order_;
    std::array<std::int32_t, at_once> picked_{};
};

/// One sample, changed as Augment says of its draw.
template <class T>
void change(const T* from, const Augment& augment, std::int64_t columns, const PhiloxBlock& draw, float scale,
            float shift, float* to) {
    const auto [height, width, most, may_flip] = augment;
    const std::int64_t channels = columns / (height * width);
    const auto scaled = [most = most](std::uint32_t word) {
        return static_cast<std::int64_t>((std::uint64_t{word} * static_cast<std::uint64_t>(2 * most + 1)) >> 32) - most;
    };
    const std::int64_t down = scaled(draw[0]), right = scaled(draw[1]);
    const bool flip = may_flip && (draw[2] & 1) != 0;
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x, to += channels) {
            const std::int64_t from_y = y + down, from_x = (flip ? width - 1 - x : x) + right;
            const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
            const T* pixel = from + (from_y * width + from_x) * channels;
            for (std::int64_t c = 0; c < channels; ++c)
                to[c] = (inside ? static_cast<float>(pixel[c]) : 0.0F) * scale + shift;
        }
}

}  // namespace

template <class T>
void CpuStream::gather_rows(const Samples& samples, const Gather& arguments, int lane, std::int64_t first,
                            std::int64_t begin, std::span<const std::int32_t> rows) {
    const std::int64_t columns = arguments.output.columns;
    const auto count = static_cast<std::int64_t>(rows.size());
    const std::byte* buffer = static_cast<const CpuBuffer*>(samples.buffer)->data();
    const std::size_t own = samples.staged ? static_cast<std::size_t>(lane) * samples.features.lane_stride : 0;
    const T* source = reinterpret_cast<const T*>(buffer + samples.features.offset + own);
    float* to = at(arguments.output, lane) + begin * columns;
    if (arguments.augment.height > 0) {
        const auto seed = value<std::uint64_t>(arguments.seed, lane);
        const auto iteration = value<std::uint32_t>(arguments.iteration, lane);
        for (std::int64_t i = 0; i < count; ++i) {
            const auto element = static_cast<std::uint64_t>(first + begin + i);
            change(source + rows[static_cast<std::size_t>(i)] * columns, arguments.augment, columns,
                   draw_block(seed, Purpose::augment, iteration, element), samples.scale, samples.shift,
                   to + i * columns);
        }
    } else if constexpr (std::is_same_v<T, std::uint8_t>) {
        kernels_.gather_u8(count, columns, source, rows.data(), samples.scale, samples.shift, to);
    } else {
        kernels_.gather_f32(count, columns, source, rows.data(), samples.scale, samples.shift, to);
    }
}

void CpuStream::gather(const Samples& samples, const Gather& arguments) {
    const Tensor& output = arguments.output;
    const Pass& pass = arguments.pass;
    assert(output.columns == samples.features.columns && arguments.labels.rows == output.rows);
    assert(pass || arguments.first + output.rows <= samples.count);
    assert(arguments.augment.height == 0 || pass);
    const std::byte* source = static_cast<const CpuBuffer*>(samples.buffer)->data();
    for (int lane = first_; lane < end_; ++lane) {
        const std::size_t own = samples.staged ? static_cast<std::size_t>(lane) * samples.labels.lane_stride : 0;
        const auto* labels = reinterpret_cast<const std::int32_t*>(source + samples.labels.offset + own);
        const Rows mine = rows_of(pass, lane, output.rows);
        const std::int64_t first = pass ? mine.first : arguments.first;
        Picked picked = pass && !samples.staged ? Picked(samples, source, first, value<std::uint32_t>(pass.batch, lane),
                                                         value<std::uint64_t>(arguments.seed, lane),
                                                         value<std::uint32_t>(arguments.iteration, lane))
                                                : Picked(samples, source, first);
        auto* targets = at<std::int32_t>(arguments.labels, lane);
        for (std::int64_t begin = 0; begin < mine.count; begin += Picked::at_once) {
            const std::int64_t count = std::min(Picked::at_once, mine.count - begin);
            const std::span rows(picked.from(begin, count), static_cast<std::size_t>(count));
            if (samples.features.type == Type::u8)
                gather_rows<std::uint8_t>(samples, arguments, lane, first, begin, rows);
            else
                gather_rows<float>(samples, arguments, lane, first, begin, rows);
            for (const std::int32_t row : rows) *targets++ = labels[row];
        }
        const auto padding = static_cast<std::size_t>(output.rows - mine.count);
        std::fill_n(targets, padding, 0);
        std::fill_n(at(output, lane) + mine.count * output.columns, padding * static_cast<std::size_t>(output.columns),
                    0.0F);
    }
}

void CpuStream::round(const Tensor& from, const Tensor& to, int lane) const {
    assert(from.elements() == to.elements() && to.type == Type::bf16);
    round_to_bfloat16(from.elements(), at(from, lane), at<std::uint16_t>(to, lane));
}

Bfloat16Products& CpuStream::bfloat16() {
    if (!bfloat16_) bfloat16_ = std::make_unique<Bfloat16Products>();
    return *bfloat16_;
}

void CpuStream::linear(const Linear& arguments) {
    const Tensor& input = arguments.input;
    const Tensor& weight = arguments.weight;
    const Tensor& output = arguments.output;
    assert(input.columns == weight.columns && output.rows == input.rows && output.columns == weight.rows);
    for (int lane = first_; lane < end_; ++lane) {
        if (arguments.precision == Precision::bfloat16) {
            round(input, arguments.rounded_input, lane);
            round(weight, arguments.rounded_weight, lane);
            bfloat16().multiply(input.rows, weight.rows, input.columns,
                                {at<std::uint16_t>(arguments.rounded_input, lane), false},
                                {at<std::uint16_t>(arguments.rounded_weight, lane), true}, at(output, lane), false);
            continue;
        }
        assert(arguments.precision == Precision::float32);
        multiply(CblasNoTrans, CblasTrans, input.rows, weight.rows, input.columns, at(input, lane), at(weight, lane),
                 at(output, lane), Write::set);
    }
}

void CpuStream::linear_backward(const LinearBackward& arguments) {
    const Tensor& gradient = arguments.output_gradient;
    const Tensor& input = arguments.input;
    const Tensor& weight = arguments.weight;
    const Tensor& below = arguments.input_gradient;
    assert(gradient.rows == input.rows && gradient.columns == weight.rows && input.columns == weight.columns);
    assert(arguments.weight_gradient.elements() == weight.elements());
    assert(!below || below.elements() == input.elements());
    for (int lane = first_; lane < end_; ++lane) {
        float* const of_weight = at(arguments.weight_gradient, lane);
        if (arguments.precision == Precision::bfloat16) {
            round(gradient, arguments.rounded_gradient, lane);
            const auto* rounded = at<std::uint16_t>(arguments.rounded_gradient, lane);
            bfloat16().multiply(weight.rows, weight.columns, input.rows, {rounded, true},
                                {at<std::uint16_t>(arguments.rounded_input, lane), false}, of_weight,
                                arguments.write == Write::add);
            if (below)
                bfloat16().multiply(input.rows, weight.columns, weight.rows, {rounded, false},
                                    {at<std::uint16_t>(arguments.rounded_weight, lane), false}, at(below, lane), false);
            continue;
        }
        assert(arguments.precision == Precision::float32);
        multiply(CblasTrans, CblasNoTrans, weight.rows, weight.columns, input.rows, at(gradient, lane), at(input, lane),
                 of_weight, arguments.write);
        if (below)
            multiply(CblasNoTrans, CblasNoTrans, input.rows, weight.columns, weight.rows, at(gradient, lane),
                     at(weight, lane), at(below, lane), Write::set);
    }
}

void CpuStream::activate(const Activate& arguments) {
    const auto& [activation, pre, bias, output, dropout, own] = arguments;
    assert(pre.elements() == output.elements() && (!bias || bias.elements() == pre.columns));
    assert(pre.offset != output.offset || (!own && (activation == Activation::none || activation == Activation::relu)));
    for (int lane = first_; lane < end_; ++lane)
        kernels_.activate[kernel_of(activation, own, lane)](pre.rows, pre.columns, at(pre, lane), at(bias, lane),
                                                            at(output, lane), draw(dropout, lane));
}

void CpuStream::activate_backward(const ActivateBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    for (int lane = first_; lane < end_; ++lane) {
        prepare(arguments.bias_gradient, lane, arguments.write);
        float* its = at(gradient, lane);
        const float* pre = at(arguments.pre, lane);
        const float* output = at(arguments.output, lane);
        const DropoutDraw dropout = draw(arguments.dropout, lane);
        const std::size_t kernel = kernel_of(arguments.activation, arguments.own, lane);
        assert(dropout.threshold == 0 || dropout.mask || kernel == static_cast<std::size_t>(Activation::relu));
        kernels_.activate_backward[kernel](gradient.rows, gradient.columns, its, pre ? pre : its, output ? output : its,
                                           at(arguments.bias_gradient, lane), dropout);
    }
}

void CpuStream::layer_norm(const LayerNorm& arguments) {
    const Tensor& input = arguments.input;
    for (int lane = first_; lane < end_; ++lane)
        kernels_.layer_norm(input.rows, input.columns, own_columns(arguments.own, lane, input.columns), at(input, lane),
                            at(arguments.bias, lane), at(arguments.scale, lane), at(arguments.shift, lane),
                            at(arguments.output, lane), at(arguments.mean, lane), at(arguments.rstd, lane),
                            arguments.epsilon);
}

void CpuStream::layer_norm_backward(const LayerNormBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    for (int lane = first_; lane < end_; ++lane) {
        for (const Tensor* target : {&arguments.scale_gradient, &arguments.shift_gradient, &arguments.bias_gradient}) {
            assert(target->elements() == gradient.columns);
            prepare(*target, lane, arguments.write);
        }
        kernels_.layer_norm_backward(
            gradient.rows, gradient.columns, own_columns(arguments.own, lane, gradient.columns), at(gradient, lane),
            at(arguments.input, lane), at(arguments.mean, lane), at(arguments.rstd, lane), at(arguments.scale, lane),
            at(arguments.scale_gradient, lane), at(arguments.shift_gradient, lane), at(arguments.bias_gradient, lane));
    }
}

void CpuStream::cross_entropy(const CrossEntropy& arguments) {
    const Tensor& logits = arguments.logits;
    assert(arguments.labels.rows == logits.rows);
    for (int lane = first_; lane < end_; ++lane) {
        prepare(arguments.loss, lane, arguments.write);
        prepare(arguments.correct, lane, arguments.write);
        const std::int64_t own = rows_of(arguments.pass, lane, logits.rows).count;
        float* gradient = at(arguments.gradient, lane);
        kernels_.cross_entropy(own, logits.columns, at(logits, lane), at<std::int32_t>(arguments.labels, lane),
                               value(arguments.smoothing, lane),
                               arguments.weights ? value(arguments.weights, lane) : arguments.weight,
                               arguments.scale ? value(arguments.scale, lane) : 1.0F, at(arguments.loss, lane),
                               at<std::int32_t>(arguments.correct, lane), gradient);
        if (gradient) std::fill(gradient + own * logits.columns, gradient + logits.elements(), 0.0F);
    }
}

void CpuStream::gradient_norm(const GradientNorm& arguments) {
    const LossScale& scaling = arguments.scaling;
    for (int lane = first_; lane < end_; ++lane) {
        const float scale = scaling.scale ? value(scaling.scale, lane) : 1.0F;
        const auto norm = static_cast<float>(
            std::sqrt(kernels_.sum_of_squares(arguments.gradient.elements(), at(arguments.gradient, lane))) / scale);
        const float limit = value(arguments.limit, lane);
        const bool valid = !scaling.scale || std::isfinite(norm);
        *at(arguments.norm, lane) = valid ? norm : 0.0F;
        *at(arguments.factor, lane) = valid ? (limit > 0 && norm > limit ? limit / norm : 1.0F) / scale : 0.0F;
        if (!scaling.scale) continue;
        *at<std::uint8_t>(scaling.valid, lane) = valid ? 1 : 0;
        float& good = *at(scaling.good, lane);
        good = valid ? good + 1 : 0.0F;
        const bool grows = good == LossScale::growth;
        if (grows) good = 0;
        if (grows || !valid) *at(scaling.scale, lane) = std::clamp(scale * (grows ? 2.0F : 0.5F), 1.0F, 0x1.0p24F);
    }
}

float CpuStream::rate_of(const Update& update, int lane) const {
    const std::uint32_t slot = update.slot ? value<std::uint32_t>(update.slot, lane) : 0;
    assert(slot < update.learning_rates.columns);
    return at(update.learning_rates, lane)[slot];
}

bool CpuStream::updates(const Update& update, int lane) const {
    return value<std::uint8_t>(update.alive, lane) != 0 &&
           (!update.valid || value<std::uint8_t>(update.valid, lane) != 0);
}

void CpuStream::adamw(const AdamW& arguments) {
    const Update& update = arguments.update;
    const std::int64_t decayed = update.decayed;
    for (int lane = first_; lane < end_; ++lane) {
        if (!updates(update, lane)) continue;
        const double rate = rate_of(update, lane);
        const double t = value<std::uint32_t>(arguments.iteration, lane) + 1.0;
        const float beta1 = value(arguments.beta1, lane);
        const float beta2 = value(arguments.beta2, lane);
        AdamWStep step{.decay = static_cast<float>(1 - rate * value(update.weight_decay, lane)),
                       .factor = update.factor ? value(update.factor, lane) : 1.0F,
                       .beta1 = beta1,
                       .beta2 = beta2,
                       .step = static_cast<float>(rate / (1 - std::pow(beta1, t))),
                       .inverse_root = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, t))),
                       .epsilon = value(arguments.epsilon, lane)};
        float* weights = at(update.weights, lane);
        const float* gradient = at(update.gradient, lane);
        float* first = at(arguments.first_moment, lane);
        float* second = at(arguments.second_moment, lane);
        kernels_.adamw(decayed, step, weights, gradient, first, second);
        step.decay = 1;
        kernels_.adamw(update.weights.elements() - decayed, step, weights + decayed, gradient + decayed,
                       first + decayed, second + decayed);
    }
}

void CpuStream::sgd(const Sgd& arguments) {
    const Update& update = arguments.update;
    const std::int64_t decayed = update.decayed;
    for (int lane = first_; lane < end_; ++lane) {
        if (!updates(update, lane)) continue;
        SgdStep step{.learning_rate = rate_of(update, lane),
                     .decay = value(update.weight_decay, lane),
                     .factor = update.factor ? value(update.factor, lane) : 1.0F,
                     .momentum = value(arguments.momentum, lane),
                     .nesterov = arguments.nesterov};
        float* weights = at(update.weights, lane);
        const float* gradient = at(update.gradient, lane);
        float* velocity = at(arguments.velocity, lane);
        kernels_.sgd(decayed, step, weights, gradient, velocity);
        step.decay = 0;
        kernels_.sgd(update.weights.elements() - decayed, step, weights + decayed, gradient + decayed,
                     velocity + decayed);
    }
}

void CpuStream::advance(const Advance& arguments) {
    for (int lane = first_; lane < end_; ++lane) {
        if (arguments.slot) {
            auto& slot = *at<std::uint32_t>(arguments.slot, lane);
            assert(slot < arguments.losses.columns && slot < arguments.norms.columns);
            at(arguments.losses, lane)[slot] = value(arguments.loss, lane);
            at(arguments.norms, lane)[slot] = value(arguments.norm, lane);
            ++slot;
        }
        if (value<std::uint8_t>(arguments.alive, lane)) ++*at<std::uint32_t>(arguments.iteration, lane);
    }
}

namespace {

/// The copy is done when `send` returns: one pass is enough.
class CpuStage final : public Stage {
   public:
    CpuStage(CpuStream& stream, std::size_t bytes) : stream_(stream), part_(bytes) {}
    std::span<std::byte> next() override { return {part_.data(), part_.bytes()}; }
    void send(const Tensor& to) override { stream_.write_bytes(to, 0, next().first(to.bytes())); }

   private:
    CpuStream& stream_;
    CpuBuffer part_;
};

}  // namespace

std::unique_ptr<Stage> CpuStream::stage(std::size_t bytes) { return std::make_unique<CpuStage>(*this, bytes); }

}  // namespace hpo
