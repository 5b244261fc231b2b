// This process's memory as Linux counts it (/proc), and what the machine has left. Absent where /proc does not tell.
#pragma once

#include <cstdint>
#include <optional>

namespace hpo {

std::optional<std::int64_t> resident_bytes();
/// The most that was resident since the process began or the last reset_peak(). Where the kernel lets nobody reset it,
/// what is resident now: a sample, but no other trial's.
std::optional<std::int64_t> peak_bytes();
/// What was freed goes back to the system first: it is no part of what comes.
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
