#include "orchestrator/scheduling/capacity.hpp"

#include <algorithm>

namespace hpo {

Footprint capacity_of(const Machine& machine) {
    Footprint capacity{0, 0, 0};
    for (const Machine::Host& host : machine.hosts)
        capacity = at_least(capacity, {0, host.memory - host.reserve, host.cores});
    for (const Accelerator& device : machine.accelerators)
        capacity.device_bytes = std::max(capacity.device_bytes, device.memory - device.reserve);
    return capacity;
}

Footprint others_of(const Machine& machine) {
    Footprint others{0, 0, 0};
    const Footprint capacity = capacity_of(machine);
    for (const Machine::Host& largest : machine.hosts)
        if (largest.memory - largest.reserve == capacity.host_bytes) others.host_bytes = largest.others;
    for (const Accelerator& largest : machine.accelerators)
        if (largest.memory - largest.reserve == capacity.device_bytes) others.device_bytes = largest.others;
    return others;
}

Footprint others_of(const Machine& machine, int place) {
    Footprint others = others_of(machine);
    others.host_bytes = machine.hosts.at(static_cast<std::size_t>(host_of(machine, place))).others;
    if (!is_host(place)) others.device_bytes = machine.accelerators.at(static_cast<std::size_t>(place)).others;
    return others;
}

Footprint left_of(const Machine& machine) {
    Footprint left{0, 0, 0};
    for (const Machine::Host& host : machine.hosts)
        if (!host.gone) left.host_bytes = std::max(left.host_bytes, host.memory - host.reserve - host.others);
    for (const Accelerator& device : machine.accelerators)
        left.device_bytes = std::max(left.device_bytes, device.memory - device.reserve - device.others);
    return left;
}

}  // namespace hpo
