// The helper process that loads the drivers' libraries: `hpo __devices nvml|opencl|metal`, started by DeviceMonitor.
// Standard input is a socket: for each byte that arrives, it sends one reading back as a line (device_codec.hpp). It
// ends when the socket closes, even if a library hangs.
#pragma once

namespace hpo {

/// The command of `hpo` that runs it.
inline constexpr const char* device_helper_command = "__devices";

/// Name of the helper's process, as ps shows it.
inline constexpr const char* device_helper_name = "hpo-devices";

/// Runs the helper; returns the exit status.
int run_device_helper(int argc, char** argv);

}  // namespace hpo
