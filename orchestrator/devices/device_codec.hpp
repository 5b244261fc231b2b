// DeviceReadings as one line of JSON: what the helper tells the monitor.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "orchestrator/devices/device.hpp"

namespace hpo {

/// Without a newline. `age` and `stale` are the receiver's.
std::string to_line(const DeviceReadings& readings);

/// Nothing for what to_line() would not have written.
std::optional<DeviceReadings> readings_of(std::string_view line);

}  // namespace hpo
