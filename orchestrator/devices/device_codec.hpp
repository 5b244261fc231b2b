// Converts DeviceReadings to one line of JSON and back: the messages from the helper to the monitor.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "orchestrator/devices/device.hpp"

namespace hpo {

/// Returns the line without a newline. `age` and `stale` are left out: the receiver sets them.
std::string to_line(const DeviceReadings& readings);

/// Returns nothing for a line that to_line() would not write.
std::optional<DeviceReadings> readings_of(std::string_view line);

}  // namespace hpo
