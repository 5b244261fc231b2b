#include "orchestrator/scheduling/capacity.hpp"

#include <algorithm>

namespace hpo {

Footprint capacity_of(const Machine& machine) {
    Footprint capacity{0, machine.memory - machine.memory_reserve, machine.cores};
    for (const Accelerator& device : machine.accelerators)
        capacity.device_bytes = std::max(capacity.device_bytes, device.memory - device.reserve);
    return capacity;
}

Footprint others_of(const Machine& machine, int device) {
    Footprint others{0, machine.memory_others, 0};
    if (device != host_only) {
        others.device_bytes = machine.accelerators.at(static_cast<std::size_t>(device)).others;
        return others;
    }
    const std::int64_t capacity = capacity_of(machine).device_bytes;
    for (const Accelerator& largest : machine.accelerators)
        if (largest.memory - largest.reserve == capacity) others.device_bytes = largest.others;
    return others;
}

}  // namespace hpo
