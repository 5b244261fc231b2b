#include "orchestrator/devices/selection.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "hpo/printable.hpp"

namespace hpo {
namespace {

std::string list_of(const std::vector<DeviceReading>& devices) {
    std::string text;
    for (const DeviceReading& device : devices)
        text += (text.empty() ? "" : ", ") + std::to_string(device.index) + " (" + device.name + ", " + device.id + ")";
    return text.empty() ? "no device" : text;
}

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Returns the devices that `name` fits. A complete UUID fits one device, even if another UUID begins with it.
std::vector<const DeviceReading*> meant_by(const std::vector<DeviceReading>& devices, const std::string& name) {
    std::vector<const DeviceReading*> found;
    const auto index = number(name);
    for (const DeviceReading& device : devices) {
        if (device.id == name) return {&device};
        if (index ? device.index == *index : !name.empty() && device.id.starts_with(name)) found.push_back(&device);
    }
    return found;
}

/// Reads CUDA_VISIBLE_DEVICES as CUDA does: numbers or beginnings of UUIDs, up to the first that fits no device.
std::vector<DeviceReading> visible_of(const std::vector<DeviceReading>& devices, std::string_view visible) {
    std::vector<DeviceReading> found;
    while (!visible.empty()) {
        const auto end = std::min(visible.find(','), visible.size());
        const auto meant = meant_by(devices, std::string(visible.substr(0, end)));
        if (meant.size() != 1) break;
        found.push_back(*meant.front());
        visible.remove_prefix(std::min(end + 1, visible.size()));
    }
    return found;
}

}  // namespace

Result<std::vector<DeviceReading>> select_devices(const DeviceReadings& readings, std::span<const std::string> names,
                                                  const std::optional<std::string>& visible) {
    std::vector<DeviceReading> chosen;
    if (names.empty()) {
        for (const DeviceReading& device : readings.devices)
            if (device.kind == DeviceKind::cuda) chosen.push_back(device);
        if (visible) chosen = visible_of(chosen, *visible);
        std::erase_if(chosen, [](const DeviceReading& device) { return device.lost; });
        return chosen;
    }
    for (const std::string& name : names) {
        const auto meant = meant_by(readings.devices, name);
        const std::string place = "resources.devices: " + printable(name);
        if (meant.empty())
            return Error{place + " is not a device of this machine; there is " + list_of(readings.devices) +
                         (readings.problem.empty() ? "" : "; " + readings.problem)};
        if (meant.size() > 1) return Error{place + " fits several devices: " + list_of(readings.devices)};
        const auto same = [&](const DeviceReading& other) { return other.id == meant.front()->id; };
        if (std::any_of(chosen.begin(), chosen.end(), same))
            return Error{place + " names a device that is listed already: " + meant.front()->id};
        chosen.push_back(*meant.front());
    }
    return chosen;
}

std::optional<std::int64_t> used_by(const DeviceReading& device, std::span<const std::int64_t> ours) {
    if (!device.processes) return std::nullopt;
    std::int64_t bytes = 0;
    for (const DeviceProcess& process : *device.processes)
        if (std::find(ours.begin(), ours.end(), process.pid) != ours.end()) bytes += process.bytes;
    return bytes;
}

std::int64_t used_by_others(const DeviceReading& device, std::span<const std::int64_t> ours, std::int64_t our_bytes) {
    return std::max<std::int64_t>(0, device.used.value_or(0) - used_by(device, ours).value_or(our_bytes));
}

}  // namespace hpo
