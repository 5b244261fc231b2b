// Lists OpenCL's devices. The loader is loaded at run time. It loads every installed driver, which can take
// seconds, so the helper process alone uses this, once.
#pragma once

#include "orchestrator/devices/device.hpp"

namespace hpo {

/// Environment variable with the path of the loader, where it is not in the usual place.
inline constexpr const char* opencl_variable = "HPO_OPENCL_LIBRARY";

/// Returns all devices of all platforms. Where OpenCL is not installed, there are none, and no problem is reported.
/// OpenCL does not report how much of a device's memory is used.
DeviceReadings read_opencl();

}  // namespace hpo
