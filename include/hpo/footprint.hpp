// What a trial needs of a machine.
#pragma once

#include <cstdint>

namespace hpo {

/// Exact for native workers (`plan`), an upper bound for others.
struct Footprint {
    std::int64_t device_bytes = 0;  ///< on the device; 0 for CPU trials
    std::int64_t host_bytes = 0;    ///< arena, data and the process itself
    double cores = 1;
};

}  // namespace hpo
