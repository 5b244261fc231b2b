// OpenCL's devices: the loader is loaded at run time, its C interface declared in opencl.cpp. It loads every driver
// that is installed, which can take seconds: for the helper process alone, once.
#pragma once

#include "orchestrator/devices/device.hpp"

namespace hpo {

/// The environment variable that names the loader where it lies elsewhere.
inline constexpr const char* opencl_variable = "HPO_OPENCL_LIBRARY";

/// All devices of all platforms; none, without a problem, where OpenCL is not installed. OpenCL does not say how much
/// of a device's memory is used.
DeviceReadings read_opencl();

}  // namespace hpo
