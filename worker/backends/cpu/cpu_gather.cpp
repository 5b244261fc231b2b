// The CPU's operation that makes batches of the data.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <type_traits>

#include "worker/backends/cpu/cpu_stream.hpp"

namespace hpo {

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

std::size_t CpuStream::part_of(const Gather& arguments, int replica) const {
    if (arguments.samples.staged) return static_cast<std::size_t>(replica);
    return arguments.fold.part ? value<std::uint32_t>(arguments.fold.part, replica) : 0;
}

template <class T>
void CpuStream::gather_rows(const Gather& arguments, int replica, std::int64_t first, std::int64_t begin,
                            std::span<const std::int32_t> rows, float* to) {
    const Samples& samples = arguments.samples;
    const std::int64_t columns = arguments.output.columns;
    const auto count = static_cast<std::int64_t>(rows.size());
    const std::byte* buffer = static_cast<const CpuBuffer*>(samples.buffer)->data();
    const Tensor features = samples.features.replica(static_cast<int>(part_of(arguments, replica)));
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

void CpuStream::compute(const Gather& arguments) {
    const Samples& samples = arguments.samples;
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
        const auto part = static_cast<int>(part_of(arguments, replica));
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
                        gather_rows<std::uint8_t>(arguments, replica, first, begin + row, its_rows, there);
                    else
                        gather_rows<float>(arguments, replica, first, begin + row, its_rows, there);
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

}  // namespace hpo
