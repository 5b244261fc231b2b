// Turns two readings of counters, or one reading of a device, into measurements. Does no I/O.
#pragma once

#include <string>

#include "orchestrator/devices/device.hpp"
#include "orchestrator/telemetry/host_counters.hpp"
#include "orchestrator/telemetry/sample.hpp"

namespace hpo {

/// Returns a measurement. It is marked as impossible if the value is not finite, lies outside the range of the quantity
/// or exceeds `most`, the device's own limit.
Measurement measurement(std::string source, Quantity quantity, double value, double most = unlimited);

/// Returns the host's activity between two readings. A counter that went backwards or is missing in either reading
/// gives no measurement. An energy counter that wrapped around is corrected by its range. Returns an empty sample if no
/// time has passed.
TelemetrySample host_sample(const HostCounters& before, const HostCounters& now);

/// Returns the device's state as of its reading. A lost device gives no measurements.
TelemetrySample device_sample(const DeviceReading& device);

}  // namespace hpo
