// Points of a shifted Sobol sequence, for the sobol sampler and for the start of tpe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hpo/space.hpp"

namespace hpo {

/// The largest number of dimensions in Boost's table of direction numbers.
inline constexpr std::size_t sobol_dimensions = 3667;

/// Returns point `number` (from 1) in [0, 1)^dimensions. `seed` and `retry` determine the shift.
Point sobol_point(std::uint64_t seed, std::uint64_t number, std::size_t dimensions, int retry);

}  // namespace hpo
