// The memory of this process as Linux counts it (/proc, in linux/) or as macOS does (its physical footprint, in
// darwin/), and the free memory of the machine. A value is absent where the system does not tell it. All values are in
// bytes.
#pragma once

#include <cstdint>
#include <optional>

namespace hpo {

std::optional<std::int64_t> resident_bytes();
/// Returns the peak of the resident memory since the process began or since the last reset_peak(). Where the kernel
/// does not allow the reset, it is the present value, so that no earlier trial's peak is counted.
std::optional<std::int64_t> peak_bytes();
/// Freed memory is returned to the system first, so that the next peak does not contain it.
void reset_peak();
/// The memory that can still be allocated without swapping.
std::optional<std::int64_t> available_bytes();

struct HostMemory {
    std::int64_t free = 0;  ///< can be taken without swapping
    std::int64_t total = 0;
};
/// The memory of the machine, or of this process's control group where that has less left.
std::optional<HostMemory> host_memory();

}  // namespace hpo
