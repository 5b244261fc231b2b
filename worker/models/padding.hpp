// How extents are rounded up, so that trials of different shapes share a bucket. Pure.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace hpo {

/// The extent that `extent` is padded to: a power of two that is at least `least`; above `coarse` also three quarters
/// of one; and above four times `coarse` the extent itself, since large extents keep a device busy and padding would
/// cost them time and memory.
inline std::int64_t padded_extent(std::int64_t extent, std::int64_t least, std::int64_t coarse) {
    if (extent > 4 * coarse) return extent;
    const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(extent, least))));
    const std::int64_t between = power / 4 * 3;
    return power > coarse && extent <= between ? between : power;
}

}  // namespace hpo
