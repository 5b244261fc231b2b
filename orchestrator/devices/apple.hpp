// Derives the facts of a Mac with Apple silicon from macOS's answers. Pure: darwin/ asks, and tests have recorded
// answers. A fact is absent if macOS gave no answer that it follows from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/apple_memory.hpp"
#include "orchestrator/devices/device.hpp"
#include "orchestrator/devices/host.hpp"

namespace hpo {

/// Answers of sysctlbyname().
struct AppleAnswers {
    std::optional<std::int64_t> memory;  ///< hw.memsize: bytes
    std::optional<std::int64_t> cpus;    ///< hw.logicalcpu
    std::vector<CoreKind> levels;        ///< hw.perflevelN.name and .logicalcpu, the fastest first
    std::string cpu_name;                ///< machdep.cpu.brand_string: "Apple M1 Pro"
};

/// Returns the machine. All its cores may be used, also the efficient ones.
Host host_of(const AppleAnswers& answers);

/// Returns the memory that Metal lets the GPU use, which is Metal's recommendedMaxWorkingSetSize: three quarters of the
/// memory of the machine, and two thirds below 36 GiB, unless the user has set another limit (iogpu.wired_limit_mb).
std::int64_t gpu_ceiling(std::int64_t memory, std::optional<std::int64_t> limit_in_mib);

/// Returns the GPUs of Apple in `properties`, the property list of the IOAccelerators (ioreg -r -c IOAccelerator -a).
/// Nothing if the text is none. `ceiling` is the memory that they may use.
std::optional<std::vector<DeviceReading>> accelerators_of(std::string_view properties, std::int64_t ceiling);

/// Returns the seconds of a time in Mach's units, of which each is `numerator` / `denominator` nanoseconds
/// (mach_timebase_info): 125 / 3 on Apple silicon, where they are often taken for nanoseconds.
double mach_seconds(std::uint64_t units, std::uint32_t numerator, std::uint32_t denominator);

}  // namespace hpo
