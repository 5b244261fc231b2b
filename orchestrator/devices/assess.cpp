#include "orchestrator/devices/assess.hpp"

#include <algorithm>

namespace hpo {
namespace {

template <class Devices>
auto find(Devices& devices, const std::string& id) {
    return std::find_if(devices.begin(), devices.end(), [&](const DeviceReading& device) { return device.id == id; });
}

}  // namespace

DeviceReadings assess(const std::vector<DeviceReading>& first, const DeviceReadings& before, DeviceReadings now) {
    std::vector<DeviceReading> nameless;
    for (const DeviceReading& device : now.devices)
        if (device.id.empty()) nameless.push_back(device);
    std::erase_if(now.devices, [](const DeviceReading& device) { return device.id.empty(); });

    for (DeviceReading& device : now.devices) {
        const auto initial = find(first, device.id);
        if (device.lost || initial == first.end() || !initial->ecc_errors || !device.ecc_errors) continue;
        const std::int64_t errors = *device.ecc_errors - *initial->ecc_errors;
        if (errors <= 0) continue;
        device.lost = true;
        device.reason = std::to_string(errors) + " uncorrectable error" + (errors > 1 ? "s" : "") + " in its memory";
    }
    for (DeviceReading gone : before.devices) {
        if (find(now.devices, gone.id) != now.devices.end()) continue;
        const auto same = std::find_if(nameless.begin(), nameless.end(),
                                       [&](const DeviceReading& device) { return device.index == gone.index; });
        gone.lost = true;
        gone.reason = same == nameless.end() ? "the driver does not list it any more" : same->reason;
        gone.processes.reset();
        if (same != nameless.end()) nameless.erase(same);
        now.devices.push_back(std::move(gone));
    }
    for (const DeviceReading& device : nameless)
        if (now.problem.empty())
            now.problem = "GPU " + std::to_string(device.index) + " cannot be used: " + device.reason;
    std::stable_sort(now.devices.begin(), now.devices.end(),
                     [](const DeviceReading& a, const DeviceReading& b) { return a.index < b.index; });
    return now;
}

DeviceReadings merge(DeviceReadings nvidia, const DeviceReadings& others) {
    std::int64_t next = 0;
    for (const DeviceReading& device : nvidia.devices) next = std::max(next, device.index + 1);
    for (DeviceReading device : others.devices) {
        const bool known = std::any_of(nvidia.devices.begin(), nvidia.devices.end(), [&](const DeviceReading& other) {
            return other.kind == DeviceKind::cuda &&
                   (other.id == device.id || (!device.pci.empty() && other.pci == device.pci));
        });
        if (known) continue;
        device.index = next++;
        nvidia.devices.push_back(std::move(device));
    }
    if (nvidia.problem.empty()) nvidia.problem = others.problem;
    return nvidia;
}

std::string name_of(const DeviceReading& device) {
    return "GPU " + std::to_string(device.index) + " (" + device.name + ", " + device.id + ")";
}

}  // namespace hpo
