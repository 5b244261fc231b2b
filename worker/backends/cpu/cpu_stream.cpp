#include "worker/backends/cpu/cpu_stream.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <type_traits>

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

void CpuStream::fill(const Tensor& to, float value) {
    for (int replica = first_; replica < end_; ++replica) {
        float* target = at(to, replica);
        share_elements(to.elements(), [&](std::int64_t first, std::int64_t count) {
            std::fill(target + first, target + first + count, value);
        });
    }
}

void CpuStream::copy(const Tensor& from, const Tensor& to) {
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

void CpuStream::add(const Tensor& from, const Tensor& to) {
    assert(from.elements() == to.elements());
    for (int replica = first_; replica < end_; ++replica) {
        const float* source = at(from, replica);
        float* target = at(to, replica);
        share_elements(from.elements(), [&](std::int64_t first, std::int64_t count) {
            kernels_.add(count, source + first, target + first);
        });
    }
}

void CpuStream::initialise(const Tensor& to, float bound, const Tensor& seed, std::uint32_t site) {
    for (int replica = first_; replica < end_; ++replica) {
        const auto key = value<std::uint64_t>(seed, replica);
        kernels_.initialise(to.elements(), bound, low_word(key), high_word(key), site, at(to, replica));
    }
}

namespace {

/// The rows of `samples` that a replica's micro-batch takes, some at a time.
class Picked {
   public:
    static constexpr std::int64_t at_once = 256;

    Picked(const Samples& samples, const std::byte* source, std::int64_t first)
        : rows_(samples.rows ? reinterpret_cast<const std::int32_t*>(source + samples.rows.offset) : nullptr),
          first_(first) {}
    /// The samples of batch `iteration` from its sample `first` on.
    Picked(const Samples& samples, const std::byte* source, std::int64_t first, std::int64_t batch, std::uint64_t seed,
           std::uint32_t iteration)
        : Picked(samples, source, iteration % (samples.count / batch) * batch + first) {
        order_.emplace(seed, iteration / (samples.count / batch), static_cast<std::uint32_t>(samples.count));
    }

    const std::int32_t* from(const Kernels& kernels, std::int64_t begin, std::int64_t count) {
        const auto first = static_cast<std::uint32_t>(first_ + begin);
        const std::span picked(picked_.data(), static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < picked.size(); ++i) picked[i] = first + static_cast<std::uint32_t>(i);
        if (order_) kernels.permute(count, *order_, picked.data());
        for (std::uint32_t& sample : picked)
            if (rows_) sample = static_cast<std::uint32_t>(rows_[sample]);
        return reinterpret_cast<const std::int32_t*>(picked_.data());
    }

   private:
    const std::int32_t* rows_;
    std::int64_t first_;
    std::optional<EpochOrder> order_;
    std::array<std::uint32_t, at_once> picked_{};
};

/// Copies one sample with the random changes of Augment.
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

namespace {

/// Has `rows` rows written, some at a time, and rounds them to `to` while the first-level cache holds them.
/// write(f32 rows, first row, their number) returns where they are.
template <class F>
void write_rounded(std::int64_t rows, std::int64_t columns, std::uint16_t* to, F&& write) {
    constexpr std::int64_t at_once = 4096;
    thread_local std::vector<float> unrounded;
    const std::int64_t rows_at_once = std::max<std::int64_t>(1, at_once / columns);
    const auto elements = static_cast<std::size_t>(rows_at_once * columns);
    if (unrounded.size() < elements) unrounded.resize(elements);
    for (std::int64_t first = 0; first < rows; first += rows_at_once) {
        const std::int64_t count = std::min(rows_at_once, rows - first);
        round_to_bfloat16(count * columns, write(unrounded.data(), first, count), to + first * columns);
    }
}

}  // namespace

std::size_t CpuStream::part_of(const Samples& samples, const Gather& arguments, int replica) const {
    if (samples.staged) return static_cast<std::size_t>(replica);
    return arguments.fold.part ? value<std::uint32_t>(arguments.fold.part, replica) : 0;
}

template <class T>
void CpuStream::gather_rows(const Samples& samples, const Gather& arguments, int replica, std::int64_t first,
                            std::int64_t begin, std::span<const std::int32_t> rows, float* to) {
    const std::int64_t columns = arguments.output.columns;
    const auto count = static_cast<std::int64_t>(rows.size());
    const std::byte* buffer = static_cast<const CpuBuffer*>(samples.buffer)->data();
    const Tensor features = samples.features.replica(static_cast<int>(part_of(samples, arguments, replica)));
    const T* source = reinterpret_cast<const T*>(buffer + features.offset);
    const float scale = arguments.fold.part ? value(arguments.fold.scale, replica) : samples.scale;
    const float shift = arguments.fold.part ? value(arguments.fold.shift, replica) : samples.shift;
    if (arguments.augment.height > 0) {
        const auto seed = value<std::uint64_t>(arguments.seed, replica);
        const auto iteration = value<std::uint32_t>(arguments.iteration, replica);
        for (std::int64_t i = 0; i < count; ++i) {
            const auto element = static_cast<std::uint64_t>(first + begin + i);
            change(source + rows[static_cast<std::size_t>(i)] * columns, arguments.augment, columns,
                   draw_block(seed, Purpose::augment, iteration, element), scale, shift, to + i * columns);
        }
    } else if constexpr (std::is_same_v<T, std::uint8_t>) {
        kernels_.gather_u8(count, columns, source, rows.data(), scale, shift, to);
    } else {
        kernels_.gather_f32(count, columns, source, rows.data(), scale, shift, to);
    }
}

void CpuStream::gather(const Samples& samples, const Gather& arguments) {
    const Tensor& output = arguments.output;
    const Extent& extent = arguments.extent;
    assert(output.columns == samples.features.columns && arguments.targets.rows == output.rows);
    assert(extent.limits_rows() || arguments.first + output.rows <= samples.count);
    assert(arguments.augment.height == 0 || extent.limits_rows());
    const std::size_t target_bytes = arguments.targets.first_rows(1).bytes();
    assert(samples.targets.first_rows(1).bytes() == target_bytes);
    const std::byte* source = static_cast<const CpuBuffer*>(samples.buffer)->data();
    for (int replica = first_; replica < end_; ++replica) {
        Samples its = samples;
        const auto part = static_cast<int>(part_of(samples, arguments, replica));
        its.rows = samples.rows.replica(part);
        if (arguments.fold.part && extent.limits_rows())
            its.count = value<std::uint32_t>(arguments.fold.count, replica);
        const std::byte* from = source + samples.targets.replica(part).offset;
        std::byte* to = arena_.data() + arguments.targets.replica(replica).offset;
        const Rows mine = valid_rows(extent, replica, output.rows);
        const std::int64_t first = extent.limits_rows() ? mine.first : arguments.first;
        const bool in_epoch = extent.limits_rows() && !samples.staged;
        const Picked all = in_epoch ? Picked(its, source, first, value<std::uint32_t>(extent.batch, replica),
                                             value<std::uint64_t>(arguments.seed, replica),
                                             value<std::uint32_t>(arguments.iteration, replica))
                                    : Picked(its, source, first);
        share(mine.count, output.columns, [&](std::int64_t its_first, std::int64_t its_count) {
            Picked picked = all;
            for (std::int64_t begin = its_first; begin < its_first + its_count; begin += Picked::at_once) {
                const std::int64_t count = std::min(Picked::at_once, its_first + its_count - begin);
                const std::span rows(picked.from(kernels_, begin, count), static_cast<std::size_t>(count));
                const auto write = [&](float* there, std::int64_t row, std::int64_t some) {
                    const auto its_rows = rows.subspan(static_cast<std::size_t>(row), static_cast<std::size_t>(some));
                    if (samples.features.type == Type::u8)
                        gather_rows<std::uint8_t>(samples, arguments, replica, first, begin + row, its_rows, there);
                    else
                        gather_rows<float>(samples, arguments, replica, first, begin + row, its_rows, there);
                    return there;
                };
                if (output.type == Type::f32)
                    write(at(output, replica) + begin * output.columns, 0, count);
                else
                    write_rounded(count, output.columns, at<std::uint16_t>(output, replica) + begin * output.columns,
                                  write);
                std::byte* target = to + static_cast<std::size_t>(begin) * target_bytes;
                for (const std::int32_t row : rows) {
                    std::memcpy(target, from + static_cast<std::size_t>(row) * target_bytes, target_bytes);
                    target += target_bytes;
                }
            }
        });
        to += static_cast<std::size_t>(mine.count) * target_bytes;
        const auto padding = static_cast<std::size_t>(output.rows - mine.count);
        std::memset(to, 0, padding * target_bytes);
        const Tensor rest = output.slice(mine.count * output.columns, output.rows - mine.count, output.columns);
        std::memset(arena_.data() + rest.replica(replica).offset, 0, rest.bytes());
    }
}

void CpuStream::round(const Tensor& from, const Tensor& to) {
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

void CpuStream::linear(const Linear& arguments) {
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

void CpuStream::linear_backward(const LinearBackward& arguments) {
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

void CpuStream::activate(const Activate& arguments) {
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

void CpuStream::activate_backward(const ActivateBackward& arguments) {
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

void CpuStream::layer_norm(const LayerNorm& arguments) {
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

void CpuStream::layer_norm_backward(const LayerNormBackward& arguments) {
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

namespace {

PatchSizes sizes_of(const Patches& p) {
    return {p.height, p.width, p.channels, p.kernel, p.stride, p.out_height(), p.out_width()};
}

}  // namespace

void CpuStream::unfold(const Unfold& arguments) {
    const auto& [patches, input, output] = arguments;
    assert(patches.kernel % 2 == 1 && input.columns == patches.channels && output.columns == patches.elements());
    assert(input.rows / patches.in_pixels() == output.rows / patches.out_pixels());
    const std::int64_t from = patches.in_pixels() * input.columns, to = patches.out_pixels() * output.columns;
    for (int replica = first_; replica < end_; ++replica)
        share(output.rows / patches.out_pixels(), to, [&](std::int64_t first, std::int64_t images) {
            kernels_.unfold(images, sizes_of(patches), at(input, replica) + first * from,
                            at(output, replica) + first * to);
        });
}

void CpuStream::fold(const Fold& arguments) {
    const auto& [patches, input, output] = arguments;
    assert(patches.kernel % 2 == 1 && output.columns == patches.channels && input.columns == patches.elements());
    assert(output.rows / patches.in_pixels() == input.rows / patches.out_pixels());
    const std::int64_t from = patches.out_pixels() * input.columns, to = patches.in_pixels() * output.columns;
    for (int replica = first_; replica < end_; ++replica)
        share(input.rows / patches.out_pixels(), from, [&](std::int64_t first, std::int64_t images) {
            kernels_.fold(images, sizes_of(patches), at(input, replica) + first * from,
                          at(output, replica) + first * to);
        });
}

void CpuStream::convolve(const Convolve& arguments) {
    const auto& [patches, input, weight, output, workspace] = arguments;
    assert(patches.kernel % 2 == 1 && input.columns == patches.channels && output.columns == weight.rows);
    assert(weight.columns == patches.elements());
    assert(workspace.elements() >= convolution_workspace(patches, output.columns));
    const std::int64_t from = patches.in_pixels() * input.columns, to = patches.out_pixels() * output.columns;
    for (int replica = first_; replica < end_; ++replica) {
        const std::int64_t images = output.rows / patches.out_pixels();
        const auto compute = [&](std::int64_t first, std::int64_t count) {
            kernels_.convolve(count, sizes_of(patches), output.columns, at(input, replica) + first * from,
                              at(weight, replica), at(output, replica) + first * to,
                              workspace_of_thread(workspace, replica));
        };
        if (convolving_threads(workspace) == 1)
            compute(0, images);
        else
            share(images, to * patches.elements(), compute);
    }
}

/// Threads that convolve: those besides the calling one have a workspace each that no plan contains, so that wide
/// convolutions have one thread.
int CpuStream::convolving_threads(const Tensor& workspace) const {
    constexpr std::size_t most_bytes = std::size_t{16} << 20;
    const auto threads = static_cast<std::size_t>(threads_.threads());
    return threads * workspace.bytes() <= most_bytes ? threads_.threads() : 1;
}

/// Several threads cannot share the tensor.
float* CpuStream::workspace_of_thread(const Tensor& workspace, int replica) const {
    if (convolving_threads(workspace) == 1) return at(workspace, replica);
    thread_local std::vector<float> own;
    own.resize(std::max(own.size(), static_cast<std::size_t>(workspace.elements())));
    return own.data();
}

void CpuStream::convolve_backward(const ConvolveBackward& arguments) {
    const Patches& patches = arguments.patches;
    const Tensor& gradient = arguments.output_gradient;
    assert(arguments.weight.rows == gradient.columns && arguments.weight.columns == patches.elements());
    assert(arguments.workspace.elements() >= convolution_workspace(patches, gradient.columns));
    for (int replica = first_; replica < end_; ++replica) {
        prepare(arguments.weight_gradient, replica, arguments.write);
        const std::int64_t images = gradient.rows / patches.out_pixels();
        const std::int64_t from = patches.out_pixels() * gradient.columns, to = patches.in_pixels() * patches.channels;
        float* const below = at(arguments.input_gradient, replica);
        const auto compute = [&](std::int64_t first, std::int64_t count, std::int64_t begin, std::int64_t end,
                                 float* its_below) {
            kernels_.convolve_backward(count, sizes_of(patches), gradient.columns, at(gradient, replica) + first * from,
                                       at(arguments.input, replica) + first * to, at(arguments.weight, replica), begin,
                                       end, at(arguments.weight_gradient, replica), its_below,
                                       workspace_of_thread(arguments.workspace, replica));
        };
        // One thread computes both gradients of an image while it is in the cache. Several cut that of the weights by
        // elements, so that none needs sums of its own.
        const int threads = convolving_threads(arguments.workspace);
        if (threads == 1) {
            compute(0, images, 0, patches.elements(), below);
            continue;
        }
        threads_.run(threads, [&](int part) {
            compute(0, images, patches.elements() * part / threads, patches.elements() * (part + 1) / threads, nullptr);
        });
        if (below)
            share(images, from * patches.elements(),
                  [&](std::int64_t first, std::int64_t count) { compute(first, count, 0, 0, below + first * to); });
    }
}

void CpuStream::group_norm(const GroupNorm& arguments) {
    const Tensor& input = arguments.input;
    assert(arguments.groups <= GroupNorm::most_groups && input.columns % arguments.groups == 0);
    assert(arguments.mean.rows * arguments.pixels == input.rows && arguments.mean.columns == arguments.groups);
    const std::int64_t of_sample = arguments.pixels * input.columns;
    for (int replica = first_; replica < end_; ++replica)
        share(input.rows / arguments.pixels, of_sample, [&](std::int64_t first, std::int64_t samples) {
            kernels_.group_norm(samples, arguments.pixels, input.columns, arguments.groups,
                                at(input, replica) + first * of_sample, at(arguments.scale, replica),
                                at(arguments.shift, replica), at(arguments.output, replica) + first * of_sample,
                                at(arguments.mean, replica) + first * arguments.groups,
                                at(arguments.rstd, replica) + first * arguments.groups, arguments.epsilon);
        });
}

void CpuStream::group_norm_backward(const GroupNormBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    for (int replica = first_; replica < end_; ++replica) {
        for (const Tensor* target : {&arguments.scale_gradient, &arguments.shift_gradient}) {
            assert(target->elements() == gradient.columns);
            prepare(*target, replica, arguments.write);
        }
        const std::int64_t of_sample = arguments.pixels * gradient.columns;
        share_and_add<2>(gradient.rows / arguments.pixels, of_sample, gradient.columns,
                         {at(arguments.scale_gradient, replica), at(arguments.shift_gradient, replica)},
                         [&](std::int64_t first, std::int64_t samples, const std::array<float*, 2>& sums) {
                             kernels_.group_norm_backward(samples, arguments.pixels, gradient.columns, arguments.groups,
                                                          at(gradient, replica) + first * of_sample,
                                                          at(arguments.input, replica) + first * of_sample,
                                                          at(arguments.mean, replica) + first * arguments.groups,
                                                          at(arguments.rstd, replica) + first * arguments.groups,
                                                          at(arguments.scale, replica), sums[0], sums[1]);
                         });
    }
}

void CpuStream::mean_pixels(const MeanPixels& arguments) {
    const auto& [input, output] = arguments;
    assert(input.columns == output.columns && input.rows % output.rows == 0);
    for (int replica = first_; replica < end_; ++replica)
        kernels_.mean_pixels(output.rows, input.rows / output.rows, input.columns, at(input, replica),
                             at(output, replica));
}

void CpuStream::mean_pixels_backward(const MeanPixelsBackward& arguments) {
    const auto& [output, input] = arguments;
    assert(input.columns == output.columns && input.rows % output.rows == 0);
    for (int replica = first_; replica < end_; ++replica)
        kernels_.mean_pixels_backward(output.rows, input.rows / output.rows, input.columns, at(output, replica),
                                      at(input, replica));
}

void CpuStream::max_pixels(const MaxPixels& arguments) {
    const auto& [height, width, input, output] = arguments;
    const std::int64_t images = input.rows / (height * width);
    assert(input.columns == output.columns && output.rows == images * arguments.out_pixels());
    const std::int64_t from = height * width * input.columns, to = arguments.out_pixels() * input.columns;
    for (int replica = first_; replica < end_; ++replica)
        share(images, from, [&](std::int64_t first, std::int64_t count) {
            kernels_.max_pixels(count, height, width, input.columns, at(input, replica) + first * from,
                                at(output, replica) + first * to);
        });
}

void CpuStream::max_pixels_backward(const MaxPixelsBackward& arguments) {
    const auto& [forward, output_gradient, input_gradient] = arguments;
    const std::int64_t images = forward.input.rows / (forward.height * forward.width);
    assert(input_gradient.elements() == forward.input.elements());
    assert(output_gradient.rows == images * forward.out_pixels());
    const std::int64_t columns = forward.input.columns;
    const std::int64_t of_input = forward.height * forward.width * columns, of_output = forward.out_pixels() * columns;
    for (int replica = first_; replica < end_; ++replica)
        share(images, of_input, [&](std::int64_t first, std::int64_t count) {
            kernels_.max_pixels_backward(
                count, forward.height, forward.width, columns, at(forward.input, replica) + first * of_input,
                at(output_gradient, replica) + first * of_output, at(input_gradient, replica) + first * of_input);
        });
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

void CpuStream::cross_entropy(const CrossEntropy& arguments) {
    assert(arguments.labels.columns == 1);
    each_cross_entropy<std::int32_t>(arguments, kernels_.cross_entropy);
}

void CpuStream::binary_cross_entropy(const CrossEntropy& arguments) {
    assert(arguments.labels.columns == arguments.logits.columns);
    each_cross_entropy<float>(arguments, kernels_.binary_cross_entropy);
}

void CpuStream::squared_error(const SquaredError& arguments) {
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
