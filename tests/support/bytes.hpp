// Units of memory for tests.
#pragma once

#include <cstdint>

namespace hpo::testing {

inline constexpr std::int64_t MiB = std::int64_t{1} << 20;
inline constexpr std::int64_t GiB = std::int64_t{1} << 30;

}  // namespace hpo::testing
