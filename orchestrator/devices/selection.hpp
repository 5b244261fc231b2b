// Decides which devices a study may use, and how much of a device others use. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "orchestrator/devices/device.hpp"

namespace hpo {

/// Returns the devices with these names (`resources.devices`), in their order. A name is a UUID, the beginning of one
/// that fits no other device, or a number of `hpo devices`. An Error, with a list of the devices, if a name is unknown,
/// fits several devices or names one twice. A named device may be lost.
///
/// Without names returns every CUDA device that is not lost and that CUDA_VISIBLE_DEVICES (`visible`) names, if it is
/// set.
Result<std::vector<DeviceReading>> select_devices(const DeviceReadings& readings, std::span<const std::string> names,
                                                  const std::optional<std::string>& visible = std::nullopt);

/// Returns the bytes of the device that other processes than `ours` use. `ours` are the pids of our trials' process
/// trees. Where the driver hides memory by process, our part is taken to be `our_bytes`, our reservations there.
/// Returns 0 if the driver does not report how much is used.
std::int64_t used_by_others(const DeviceReading& device, std::span<const std::int64_t> ours, std::int64_t our_bytes);

/// Returns the bytes of the device that `ours` use; nothing where the driver hides memory by process.
std::optional<std::int64_t> used_by(const DeviceReading& device, std::span<const std::int64_t> ours);

}  // namespace hpo
