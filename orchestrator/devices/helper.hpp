// The helper process that loads the drivers' libraries: `hpo __devices nvml|opencl PARENT`, started by DeviceMonitor.
// Standard input is a socket: for each byte that comes, one reading goes back as a line (device_codec.hpp). It ends
// when the socket closes, and is killed with its parent, whatever a library does.
#pragma once

namespace hpo {

/// The command line's word for it.
inline constexpr const char* device_helper_word = "__devices";

/// What a helper calls itself, for ps.
inline constexpr const char* device_helper_name = "hpo-devices";

/// Returns the exit status.
int run_device_helper(int argc, char** argv);

}  // namespace hpo
