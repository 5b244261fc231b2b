// Ends a fuzzer with a finding.
#pragma once

#include <cstdlib>

namespace hpo {

inline void require(bool holds) {
    if (!holds) std::abort();
}

}  // namespace hpo
