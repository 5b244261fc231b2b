#pragma once

#include <cstdint>

namespace hpo::test {
/// Returns the number of calls of operator new in this program.
std::int64_t allocations();
}  // namespace hpo::test
