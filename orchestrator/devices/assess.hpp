// What readings mean beside those before them. Pure.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/devices/device.hpp"

namespace hpo {

/// `now`, with what only the past can tell: a device that has gone missing, or that the driver cannot name any more, is
/// there as it was and lost; one whose memory has erred since `first` (the first reading of each device) is lost, until
/// a reset sets the count back. Devices that never had a name are left out, and told in `problem`.
DeviceReadings assess(const std::vector<DeviceReading>& first, const DeviceReadings& before, DeviceReadings now);

/// One list. An NVIDIA device that OpenCL lists too (the same UUID or PCI address) is there once, as CUDA's; the others
/// of OpenCL are numbered after CUDA's.
DeviceReadings merge(DeviceReadings nvidia, const DeviceReadings& opencl);

/// "GPU 1 (NVIDIA H200, GPU-8f6c...)"
std::string words_of(const DeviceReading& device);

}  // namespace hpo
