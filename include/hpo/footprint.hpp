// The resources that a trial needs.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hpo {

/// The memory and the cores of a trial. It is exact for native workers, which answer `plan`, and an upper bound for
/// others.
struct Footprint {
    std::int64_t device_bytes = 0;  ///< on the device; 0 for CPU trials
    std::int64_t host_bytes = 0;    ///< arena, data and the process itself
    double cores = 1;

    friend bool operator==(const Footprint&, const Footprint&) = default;
};

/// Returns the larger value of each member.
inline Footprint at_least(const Footprint& a, const Footprint& b) {
    return {std::max(a.device_bytes, b.device_bytes), std::max(a.host_bytes, b.host_bytes), std::max(a.cores, b.cores)};
}

}  // namespace hpo
