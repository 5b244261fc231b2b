// Judges readings of devices by comparing them with earlier ones. Pure.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/devices/device.hpp"

namespace hpo {

/// Returns `now`, completed from earlier readings. A device that is missing, or that the driver cannot name any
/// more, is listed as it was before, as lost. A device whose memory had errors since `first` (the first reading of each
/// device) is lost until a reset sets the count back. Devices that never had an id are left out; `problem` names them.
DeviceReadings assess(const std::vector<DeviceReading>& first, const DeviceReadings& before, DeviceReadings now);

/// Joins two lists. An NVIDIA device that OpenCL lists too (with the same UUID or PCI address) appears once, as a CUDA
/// device. The other devices are numbered after the CUDA devices.
DeviceReadings merge(DeviceReadings nvidia, const DeviceReadings& others);

/// "GPU 1 (NVIDIA H200, GPU-8f6c...)"
std::string name_of(const DeviceReading& device);

}  // namespace hpo
