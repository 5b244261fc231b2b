// The batch size that suits the number of training samples: the native worker's default, and the least one that
// `policy.min_batch_size: auto` allows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace hpo {

inline constexpr std::int64_t updates_of_an_epoch = 100;    ///< kept for small data, down to `smallest_auto_batch`
inline constexpr std::int64_t smallest_auto_batch = 16;     ///< smaller batches leave the machine idle
inline constexpr std::int64_t largest_auto_batch = 256;     ///< from here on the machine is used well
inline constexpr std::int64_t enough_updates_in_all = 500;  ///< with fewer updates a model is hardly trained

/// Returns the largest power of two from 16 to 256 with which an epoch of `samples` has at least 100 updates; 16 if
/// there is none.
constexpr std::int64_t auto_batch_size(std::int64_t training_samples) {
    const auto most = std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(training_samples, 0)) /
                                     static_cast<std::uint64_t>(updates_of_an_epoch));
    return std::clamp(static_cast<std::int64_t>(most), smallest_auto_batch, largest_auto_batch);
}

}  // namespace hpo
