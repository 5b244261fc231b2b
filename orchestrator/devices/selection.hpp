// Which of the devices a study may use, and how much of one is left to it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "orchestrator/devices/device.hpp"

namespace hpo {

/// The devices that `names` mean (`resources.devices`), in that order: each a UUID, the beginning of one that fits no
/// other, or a number of `hpo devices`. Fails for a name that is unknown, means several or is there twice, and says
/// what there is. A named device may be lost.
///
/// No names: every CUDA device that is not lost, of those that CUDA_VISIBLE_DEVICES names where it is set (`visible`).
Result<std::vector<DeviceReading>> select_devices(const DeviceReadings& readings, std::span<const std::string> names,
                                                  const std::optional<std::string>& visible = std::nullopt);

/// Bytes of the device that anything but `ours` uses. `ours` are all pids of our trials' process trees. Where the
/// driver hides who uses what, our part is taken to be `our_bytes` (what we have reserved there). 0 where it does not
/// say how much is used.
std::int64_t used_by_others(const DeviceReading& device, std::span<const std::int64_t> ours, std::int64_t our_bytes);

/// Bytes of the device that `ours` use; absent where the driver hides who uses what.
std::optional<std::int64_t> used_by(const DeviceReading& device, std::span<const std::int64_t> ours);

}  // namespace hpo
