// What a trial needs of a machine.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hpo {

/// Exact for native workers (`plan`), an upper bound for others.
struct Footprint {
    std::int64_t device_bytes = 0;  ///< on the device; 0 for CPU trials
    std::int64_t host_bytes = 0;    ///< arena, data and the process itself
    double cores = 1;
};

/// The larger of each.
inline Footprint at_least(const Footprint& a, const Footprint& b) {
    return {std::max(a.device_bytes, b.device_bytes), std::max(a.host_bytes, b.host_bytes), std::max(a.cores, b.cores)};
}

}  // namespace hpo
