#include "worker/backends/cpu/cpu_stream.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>

#include "worker/backends/cpu/products.hpp"

namespace hpo {
namespace {

std::uint32_t low_word(std::uint64_t seed) { return static_cast<std::uint32_t>(seed); }
std::uint32_t high_word(std::uint64_t seed) { return static_cast<std::uint32_t>(seed >> 32); }

/// The draw of the rows from `row` on.
DropoutDraw from_row(DropoutDraw draw, std::int64_t row, std::int64_t columns) {
    draw.first_row += static_cast<std::uint32_t>(row);
    if (draw.mask) draw.mask += row * columns;
    return draw;
}

}  // namespace

CpuStream::Rows CpuStream::valid_rows(const Extent& extent, int replica, std::int64_t rows) const {
    if (!extent.limits_rows()) return {0, rows};
    const std::int64_t per_sample = extent.rows_per_sample;
    const std::int64_t most = value<std::uint32_t>(extent.rows, replica) * per_sample;
    const std::int64_t first = extent.micro_batch * most;
    const std::int64_t batch = value<std::uint32_t>(extent.batch, replica) * per_sample;
    return {first, std::clamp<std::int64_t>(batch - first, 0, std::min(most, rows))};
}

std::size_t CpuStream::kernel_of(Activation activation, const Tensor& activations, int replica) const {
    return activations ? value<std::uint32_t>(activations, replica) : static_cast<std::size_t>(activation);
}

std::int64_t CpuStream::valid_columns(const Extent& extent, int replica, std::int64_t columns) const {
    return extent.columns ? value<std::uint32_t>(extent.columns, replica) : columns;
}

DropoutDraw CpuStream::draw(const Dropout& dropout, int replica) const {
    if (!dropout.probability) return {};
    const float probability = value(dropout.probability, replica);
    const auto threshold = static_cast<std::uint32_t>(std::lround(probability * 65536.0F));
    assert(threshold < 65536);
    const auto seed = value<std::uint64_t>(dropout.seed, replica);
    return {.threshold = threshold,
            .scale = 65536.0F / static_cast<float>(65536 - threshold),
            .key0 = low_word(seed),
            .key1 = high_word(seed),
            .iteration = value<std::uint32_t>(dropout.iteration, replica),
            .site = dropout.site,
            .first_row = static_cast<std::uint32_t>(valid_rows(dropout.extent, replica, 0).first),
            .mask = at<std::uint8_t>(dropout.mask, replica)};
}

void CpuStream::prepare(const Tensor& target, int replica, Write write) const {
    if (!target || write == Write::add) return;
    std::memset(arena_.data() + target.offset + static_cast<std::size_t>(replica) * target.replica_stride, 0,
                target.bytes());
}

void CpuStream::write_bytes(const Tensor& to, int replica, std::span<const std::byte> data) {
    assert(data.size() == to.bytes());
    std::memcpy(arena_.data() + to.offset + static_cast<std::size_t>(replica) * to.replica_stride, data.data(),
                data.size());
}

void CpuStream::read_bytes(const Tensor& from, int replica, std::span<std::byte> data) {
    assert(data.size() == from.bytes());
    std::memcpy(data.data(), arena_.data() + from.offset + static_cast<std::size_t>(replica) * from.replica_stride,
                data.size());
}

void CpuStream::compute(const Fill& arguments) {
    const auto& [to, value] = arguments;
    for (int replica = first_; replica < end_; ++replica) {
        float* target = at(to, replica);
        share_elements(to.elements(), [&](std::int64_t first, std::int64_t count) {
            std::fill(target + first, target + first + count, value);
        });
    }
}

void CpuStream::compute(const Copy& arguments) {
    const auto& [from, to] = arguments;
    assert(from.elements() == to.elements() && from.type == to.type);
    for (int replica = first_; replica < end_; ++replica)
        std::memcpy(arena_.data() + to.offset + static_cast<std::size_t>(replica) * to.replica_stride,
                    arena_.data() + from.offset + static_cast<std::size_t>(replica) * from.replica_stride,
                    from.bytes());
}

void CpuStream::copy_from(const Buffer& arena, const Tensor& from, const Tensor& to) {
    assert(from.replica_stride == to.replica_stride && from.elements() == to.elements() && from.type == to.type);
    const std::size_t before = static_cast<std::size_t>(first_) * from.replica_stride;
    std::memcpy(arena_.data() + to.offset + before, static_cast<const CpuBuffer&>(arena).data() + from.offset + before,
                static_cast<std::size_t>(end_ - first_ - 1) * from.replica_stride + from.bytes());
}

void CpuStream::compute(const Add& arguments) {
    const auto& [from, to] = arguments;
    assert(from.elements() == to.elements());
    for (int replica = first_; replica < end_; ++replica) {
        const float* source = at(from, replica);
        float* target = at(to, replica);
        share_elements(from.elements(), [&](std::int64_t first, std::int64_t count) {
            kernels_.add(count, source + first, target + first);
        });
    }
}

void CpuStream::compute(const Initialise& arguments) {
    const auto& [to, bound, seed, site] = arguments;
    for (int replica = first_; replica < end_; ++replica) {
        const auto key = value<std::uint64_t>(seed, replica);
        kernels_.initialise(to.elements(), bound, low_word(key), high_word(key), site, at(to, replica));
    }
}

void CpuStream::compute(const Round& arguments) {
    const auto& [from, to] = arguments;
    assert(from.elements() == to.elements());
    for (int replica = first_; replica < end_; ++replica)
        share_elements(from.elements(), [&](std::int64_t first, std::int64_t count) {
            round_to_bfloat16(count, at(from, replica) + first, at<std::uint16_t>(to, replica) + first);
        });
}

Bfloat16Products& CpuStream::bfloat16() {
    if (!bfloat16_) bfloat16_ = std::make_unique<Bfloat16Products>(bfloat16_unit(), threads_);
    return *bfloat16_;
}

void CpuStream::compute(const Linear& arguments) {
    const auto& [input, weight, output, precision] = arguments;
    assert(input.columns == weight.columns && output.rows == input.rows && output.columns == weight.rows);
    for (int replica = first_; replica < end_; ++replica) {
        if (precision == Precision::bfloat16) {
            bfloat16().multiply(input.rows, weight.rows, input.columns, {at<std::uint16_t>(input, replica), false},
                                {at<std::uint16_t>(weight, replica), true}, at(output, replica), false);
            continue;
        }
        assert(precision == Precision::float32);
        multiply(threads_, input.rows, weight.rows, input.columns, {at(input, replica)}, {at(weight, replica), true},
                 at(output, replica), Write::set);
    }
}

void CpuStream::compute(const LinearBackward& arguments) {
    assert(!arguments.adamw);
    const Tensor& gradient = arguments.output_gradient;
    const Tensor& input = arguments.input;
    const Tensor& weight = arguments.weight;
    const Tensor& below = arguments.input_gradient;
    assert(gradient.rows == input.rows && gradient.columns == weight.rows && input.columns == weight.columns);
    assert(!arguments.weight_gradient || arguments.weight_gradient.elements() == weight.elements());
    assert(!below || below.elements() == input.elements());
    for (int replica = first_; replica < end_; ++replica) {
        float* const of_weight = at(arguments.weight_gradient, replica);
        if (arguments.precision == Precision::bfloat16) {
            const auto* rounded = at<std::uint16_t>(gradient, replica);
            if (of_weight)
                bfloat16().multiply(weight.rows, weight.columns, input.rows, {rounded, true},
                                    {at<std::uint16_t>(input, replica), false}, of_weight,
                                    arguments.write == Write::add);
            if (below)
                bfloat16().multiply(input.rows, weight.columns, weight.rows, {rounded, false},
                                    {at<std::uint16_t>(weight, replica), false}, at(below, replica), false);
            continue;
        }
        assert(arguments.precision == Precision::float32);
        if (of_weight)
            multiply(threads_, weight.rows, weight.columns, input.rows, {at(gradient, replica), true},
                     {at(input, replica)}, of_weight, arguments.write);
        if (below)
            multiply(threads_, input.rows, weight.columns, weight.rows, {at(gradient, replica)}, {at(weight, replica)},
                     at(below, replica), Write::set);
    }
}

void CpuStream::compute(const Activate& arguments) {
    const auto& [activation, pre, bias, output, dropout, activations, skipped] = arguments;
    assert(!skipped || (skipped.elements() == output.elements() && output.type == Type::f32));
    assert(pre.elements() == output.elements() && (!bias || bias.elements() == pre.columns));
    assert(pre.offset != output.offset ||
           (!activations && (activation == Activation::none || activation == Activation::relu)));
    for (int replica = first_; replica < end_; ++replica) {
        const std::size_t kernel = kernel_of(activation, activations, replica);
        const DropoutDraw drawn = draw(dropout, replica);
        float* const its = at(pre, replica);
        const float* const shift = at(bias, replica);
        const std::int64_t columns = pre.columns;
        const bool keeps_output = kernel == static_cast<std::size_t>(Activation::relu);
        share(pre.rows, columns, [&](std::int64_t begin, std::int64_t rows) {
            const DropoutDraw its_draw = from_row(drawn, begin, columns);
            float* const from = its + begin * columns;
            if (output.type == Type::f32) {
                const float* const beside = skipped ? at(skipped, replica) + begin * columns : nullptr;
                kernels_.activate[kernel](rows, columns, from, shift, at(output, replica) + begin * columns, beside,
                                          its_draw);
                return;
            }
            write_rounded(rows, columns, at<std::uint16_t>(output, replica) + begin * columns,
                          [&](float* rounded, std::int64_t first, std::int64_t count) {
                              float* const source = from + first * columns;
                              float* const to = keeps_output ? source : rounded;
                              kernels_.activate[kernel](count, columns, source, shift, to, nullptr,
                                                        from_row(its_draw, first, columns));
                              return to;
                          });
        });
    }
}

void CpuStream::compute(const ActivateBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    assert(gradient.type == Type::f32 || arguments.incoming);
    for (int replica = first_; replica < end_; ++replica) {
        prepare(arguments.bias_gradient, replica, arguments.write);
        const float* incoming = at(arguments.incoming ? arguments.incoming : gradient, replica);
        const float* pre = arguments.pre ? at(arguments.pre, replica) : incoming;
        const float* output = arguments.output ? at(arguments.output, replica) : incoming;
        float* bias_gradient = at(arguments.bias_gradient, replica);
        const DropoutDraw dropout = draw(arguments.dropout, replica);
        const std::size_t kernel = kernel_of(arguments.activation, arguments.activations, replica);
        assert(dropout.threshold == 0 || dropout.mask || kernel == static_cast<std::size_t>(Activation::relu));
        const std::int64_t columns = gradient.columns;
        share_and_add<1>(gradient.rows, columns, columns, {bias_gradient},
                         [&](std::int64_t begin, std::int64_t rows, const std::array<float*, 1>& sums) {
                             const auto compute = [&](float* to, std::int64_t first, std::int64_t count) {
                                 const std::int64_t skipped = (begin + first) * columns;
                                 kernels_.activate_backward[kernel](count, columns, to, incoming + skipped,
                                                                    pre + skipped, output + skipped, sums[0],
                                                                    from_row(dropout, begin + first, columns));
                                 return to;
                             };
                             if (gradient.type == Type::f32)
                                 compute(at(gradient, replica) + begin * columns, 0, rows);
                             else
                                 write_rounded(rows, columns, at<std::uint16_t>(gradient, replica) + begin * columns,
                                               compute);
                         });
    }
}

void CpuStream::compute(const LayerNorm& arguments) {
    const Tensor& input = arguments.input;
    const std::int64_t columns = input.columns;
    for (int replica = first_; replica < end_; ++replica) {
        const std::int64_t valid = valid_columns(arguments.extent, replica, columns);
        share(input.rows, columns, [&](std::int64_t first, std::int64_t rows) {
            kernels_.layer_norm(rows, columns, valid, arguments.centred, at(input, replica) + first * columns,
                                at(arguments.bias, replica), at(arguments.scale, replica), at(arguments.shift, replica),
                                at(arguments.output, replica) + first * columns, at(arguments.mean, replica) + first,
                                at(arguments.rstd, replica) + first, arguments.epsilon);
        });
    }
}

void CpuStream::compute(const LayerNormBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    for (int replica = first_; replica < end_; ++replica) {
        for (const Tensor* target : {&arguments.scale_gradient, &arguments.shift_gradient, &arguments.bias_gradient}) {
            assert(!*target || target->elements() == gradient.columns);
            prepare(*target, replica, arguments.write);
        }
        const std::int64_t columns = gradient.columns, valid = valid_columns(arguments.extent, replica, columns);
        float* const skipped = at(arguments.skipped_gradient, replica);
        share_and_add<3>(gradient.rows, columns, columns,
                         {at(arguments.scale_gradient, replica), at(arguments.shift_gradient, replica),
                          at(arguments.bias_gradient, replica)},
                         [&](std::int64_t first, std::int64_t rows, const std::array<float*, 3>& sums) {
                             kernels_.layer_norm_backward(
                                 rows, columns, valid, arguments.centred, at(gradient, replica) + first * columns,
                                 at(arguments.input, replica) + first * columns, at(arguments.mean, replica) + first,
                                 at(arguments.rstd, replica) + first, at(arguments.scale, replica), sums[0], sums[1],
                                 sums[2], skipped ? skipped + first * columns : nullptr);
                         });
    }
}

template <class Label, class Kernel>
void CpuStream::each_cross_entropy(const CrossEntropy& arguments, Kernel kernel) {
    const Tensor& logits = arguments.logits;
    assert(arguments.labels.rows == logits.rows);
    for (int replica = first_; replica < end_; ++replica) {
        prepare(arguments.loss, replica, arguments.write);
        prepare(arguments.correct, replica, arguments.write);
        const std::int64_t valid = valid_rows(arguments.extent, replica, logits.rows).count;
        float* gradient = at(arguments.gradient, replica);
        const std::int64_t columns = logits.columns, of_label = arguments.labels.columns;
        const Parts parts = parts_of(valid, std::max<std::int64_t>(1, (std::int64_t{1} << 12) / columns));
        partial_sums_.assign(static_cast<std::size_t>(parts.count), 0.0F);
        std::atomic<std::int32_t> hits{0};
        threads_.run(parts.count, [&](int part) {
            const std::int64_t first = parts.first(part);
            std::int32_t its_hits = 0;
            kernel(parts.length(part), columns, at(logits, replica) + first * columns,
                   at<Label>(arguments.labels, replica) + first * of_label, at(arguments.class_weights, replica),
                   value(arguments.smoothing, replica),
                   arguments.weights ? value(arguments.weights, replica) : arguments.weight,
                   arguments.scale ? value(arguments.scale, replica) : 1.0F,
                   &partial_sums_[static_cast<std::size_t>(part)], &its_hits,
                   gradient ? gradient + first * columns : nullptr);
            hits += its_hits;
        });
        *at(arguments.loss, replica) +=
            static_cast<float>(std::accumulate(partial_sums_.begin(), partial_sums_.end(), 0.0));
        *at<std::int32_t>(arguments.correct, replica) += hits;
        if (gradient) std::fill(gradient + valid * columns, gradient + logits.elements(), 0.0F);
    }
}

void CpuStream::compute(const CrossEntropy& arguments) {
    assert(arguments.labels.columns == 1);
    each_cross_entropy<std::int32_t>(arguments, kernels_.cross_entropy);
}

void CpuStream::compute(const BinaryCrossEntropy& arguments) {
    assert(arguments.labels.columns == arguments.logits.columns);
    each_cross_entropy<float>(arguments, kernels_.binary_cross_entropy);
}

void CpuStream::compute(const SquaredError& arguments) {
    const Tensor& predictions = arguments.predictions;
    assert(arguments.targets.elements() == predictions.elements());
    for (int replica = first_; replica < end_; ++replica) {
        prepare(arguments.loss, replica, arguments.write);
        prepare(arguments.absolute, replica, arguments.write);
        const std::int64_t valid = valid_rows(arguments.extent, replica, predictions.rows).count * predictions.columns;
        float* gradient = at(arguments.gradient, replica);
        kernels_.squared_error(valid, at(predictions, replica), at(arguments.targets, replica),
                               arguments.weights ? value(arguments.weights, replica) : arguments.weight,
                               arguments.scale ? value(arguments.scale, replica) : 1.0F, at(arguments.loss, replica),
                               at(arguments.absolute, replica), gradient);
        if (gradient) std::fill(gradient + valid, gradient + predictions.elements(), 0.0F);
    }
}

namespace {

/// One part is enough, since the copy is complete when `send` returns.
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
