// This process's memory as Linux counts it (/proc), and what the machine has left. Absent where /proc does not tell.
#pragma once

#include <cstdint>
#include <optional>

namespace hpo {

std::optional<std::int64_t> resident_bytes();
/// The most that was resident since the process began or the last reset_peak().
std::optional<std::int64_t> peak_bytes();
void reset_peak();
/// What can still be taken without swapping.
std::optional<std::int64_t> available_bytes();

struct HostMemory {
    std::int64_t free = 0;  ///< can be taken without swapping
    std::int64_t total = 0;
};
/// Of the machine, or of this process's control group where that has less left.
std::optional<HostMemory> host_memory();

}  // namespace hpo
