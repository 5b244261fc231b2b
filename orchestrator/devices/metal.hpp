// Lists the GPU of a Mac. No library of Metal is loaded: IOKit tells how busy the GPU is and how much memory is in use,
// and Metal's limit follows from the machine's memory (apple.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "orchestrator/devices/device.hpp"

namespace hpo {

/// A file with the property list of IOAccelerators (ioreg -r -c IOAccelerator -a) in place of the machine's. For tests.
inline constexpr const char* accelerators_variable = "HPO_IOREG";

/// Returns true where a GPU of Apple may be found.
bool metal_expected();

/// Reads the GPUs. Absent figures stay absent.
DeviceReadings read_metal();

/// Returns the property list of the IOAccelerators, as darwin/ reads it; nothing where there is no IOKit, or where it
/// fails.
std::optional<std::string> accelerator_properties();
/// The user's limit for the memory of the GPU in MiB (iogpu.wired_limit_mb); absent or 0 if there is none.
std::optional<std::int64_t> gpu_wired_limit();
/// True on systems that have IOKit.
bool has_io_kit();

}  // namespace hpo
