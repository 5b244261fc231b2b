// Which trials may train side by side. Where that saves launches, trials need not be alike: batch size and widths are
// padded to those of a bucket, activation and optimizer are each lane's own, as is what the shape does not depend on.
// Pure.
#pragma once

#include <cstdint>
#include <string>

#include "worker/training/configuration.hpp"

namespace hpo {

/// The extent that `extent` is padded to: a power of two, at least `least`; above `coarse` also three quarters of one,
/// and above four times that none, as what is large keeps a device busy and padding costs it time and memory.
std::int64_t padded_extent(std::int64_t extent, std::int64_t least, std::int64_t coarse);

/// Of all trials that may train side by side with this one: what takes the most memory of what they may be.
Configuration bucket_of(Configuration configuration);

/// What trials must have in common to take each other's places in memory that is laid out for this configuration, in
/// words.
std::string shape_of(const Configuration& laid_out, std::uint64_t data_seed);

}  // namespace hpo
