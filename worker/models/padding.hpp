// Rounds extents up, so that trials of different shapes share a bucket. Pure.
//
// Without padding hardly two trials of studies/phase1.yaml, which draws batch sizes from 256 to 4,096, would train in
// one worker, and an H200 does 6.5 times the work of one trial with 16 (docs/performance.md, "A large GPU").
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace hpo {

/// Both are powers of two, and `least` is at most `coarse`.
struct PaddingBounds {
    std::int64_t least = 1;
    std::int64_t coarse = 1;
    friend bool operator==(const PaddingBounds&, const PaddingBounds&) = default;
};

/// The bounds of a bucket. These were chosen without a GPU; tuning.hpp measures better ones on a device.
struct BucketBounds {
    PaddingBounds batches{64, 1024};
    PaddingBounds widths{128, 512};
    friend bool operator==(const BucketBounds&, const BucketBounds&) = default;
};

/// The extent that `extent` is padded to: a power of two that is at least `least`; above `coarse` also three quarters
/// of one; and above four times `coarse` the extent itself, since large extents keep a device busy and padding would
/// cost them time and memory.
inline std::int64_t padded_extent(std::int64_t extent, const PaddingBounds& bounds) {
    const auto [least, coarse] = bounds;
    if (extent > 4 * coarse) return extent;
    const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(extent, least))));
    const std::int64_t between = power / 4 * 3;
    return power > coarse && extent <= between ? between : power;
}

}  // namespace hpo
