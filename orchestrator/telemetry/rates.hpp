// Turns two readings of counters, or one reading of a device, into measurements. Pure.
#pragma once

#include <string>

#include "orchestrator/devices/device.hpp"
#include "orchestrator/telemetry/host_counters.hpp"
#include "orchestrator/telemetry/sample.hpp"

namespace hpo {

/// A measurement that is marked as impossible if it is not finite, lies outside the range of its quantity, or is above
/// `most`, the device's own limit.
Measurement measurement(std::string source, Quantity quantity, double value, double most = unlimited);

/// Returns what the host did between two readings. A counter that went backwards, or that either reading lacks, gives
/// no measurement; energy that started again from 0 is corrected by its range. Returns nothing if no time passed.
TelemetrySample host_sample(const HostCounters& before, const HostCounters& now);

/// Returns the device's state as of its reading. A lost device gives no measurements.
TelemetrySample device_sample(const DeviceReading& device);

}  // namespace hpo
