#include "orchestrator/cluster/hosts_machine.hpp"

#include <algorithm>
#include <tuple>

#include "orchestrator/scheduling/concurrency.hpp"

namespace hpo::cluster {

int HostsMachine::workers() const {
    const int all = workers_of(hosts_->all(), on_device());
    return std::max(1, static_cast<int>(std::min<std::int64_t>(all, resources_.parallel.value_or(all))));
}

LaunchSpec HostsMachine::spec(std::span<const int> devices) const {
    LaunchSpec spec;
    if (is_host(devices.front())) {
        spec.host = on_host(devices.front());
        return spec;
    }
    for (const std::size_t i : hosts_->answered())
        if (*hosts_->all()[i].first_device <= devices.front()) spec.host = static_cast<int>(i);
    for (const int device : devices)
        spec.devices.push_back(device - *hosts_->all()[static_cast<std::size_t>(spec.host)].first_device);
    return spec;
}

Machine HostsMachine::read(std::span<const WorkerIndex> workers, std::optional<WorkerIndex> reusable,
                           std::span<const Reservation> reserved) const {
    Machine machine;
    // A host that has not answered has nothing yet. Accelerators keep the places that they got with the first
    // answer.
    machine.hosts.assign(hosts_->all().size(), {.cores = 0, .usable = false});
    const auto now = HostClock::now();
    for (const std::size_t i : hosts_->answered()) {
        const Host& host = hosts_->all()[i];
        const from_agent::Reading& reading = host.reading;
        Machine::Host one = reading.host;
        one.usable = host.state == Host::State::up && !host.is_silent(now);
        one.gone = host.state == Host::State::aside;
        std::vector<Accelerator> accelerators = reading.accelerators;
        for (std::size_t d = 0; d < accelerators.size(); ++d) {
            Accelerator& device = accelerators[d];
            device.host = static_cast<int>(i);
            device.usable = device.usable && one.usable;
            if (d < reading.hidden.size() && reading.hidden[d])
                for (const Reservation& reservation : reserved)
                    if (computes_on(*host.first_device + static_cast<int>(d), reservation.device, reservation.more))
                        device.others = std::max<std::int64_t>(0, device.others - reservation.footprint.device_bytes);
        }
        for (const auto& use : reading.workers) {
            const auto slot = static_cast<std::size_t>(use.slot);
            const auto worker = slot < host.slots.size() ? host.slots[slot].worker : std::nullopt;
            if (worker && worker == reusable) {
                if (one.free) *one.free += use.host_bytes;
                for (const int device : host.slots[slot].devices)
                    if (auto& free = accelerators.at(static_cast<std::size_t>(device)).free) *free += use.device_bytes;
            } else if (!worker || std::find(workers.begin(), workers.end(), *worker) == workers.end()) {
                one.others += use.host_bytes;  // the worker is about to leave, and has no reservation
            }
        }
        machine.hosts[i] = one;
        machine.accelerators.insert(machine.accelerators.end(), accelerators.begin(), accelerators.end());
    }
    return machine;
}

std::vector<Footprint> HostsMachine::usage(std::span<const WorkerIndex> workers) const {
    std::vector<Footprint> used(workers.size(), Footprint{0, 0, 0});
    for (std::size_t i = 0; i < workers.size(); ++i) {
        const auto place = hosts_->place_of(workers[i]);
        if (!place) continue;
        for (const auto& use : hosts_->all()[place->host].reading.workers)
            if (use.slot == place->slot) used[i] = {use.device_bytes, use.host_bytes, 0};
    }
    return used;
}

std::vector<DeviceReservation> HostsMachine::to_publish(const Machine& now, std::span<const HeldResources> held) const {
    std::vector<DeviceReservation> all;
    for (std::size_t i = 0; i < hosts_->all().size(); ++i) {
        to_agent::Holds holds{reservations_of(i, now, held), {}};
        for (DeviceReservation one : holds.devices) {
            const Host& host = hosts_->all()[i];
            one.device.insert(0, host.address.name + "/");
            std::tie(one.state, one.reason) = host.state_text(HostClock::now());
            all.push_back(std::move(one));
        }
        hosts_->tell(i, std::move(holds));
    }
    return all;
}

std::vector<DeviceReservation> HostsMachine::reservations_of(std::size_t index, const Machine& now,
                                                             std::span<const HeldResources> held) const {
    // `now` may be older than the host's first answer, and than an agent that has joined.
    const Machine::Host here = index < now.hosts.size() ? now.hosts[index] : Machine::Host{.cores = 0};
    const Host& host = hosts_->all()[index];
    const int first = host.first_device.value_or(0);
    const bool has_all = first + host.devices() <= static_cast<int>(now.accelerators.size());
    const int count = has_all ? host.devices() : 0;
    std::vector<DeviceReservation> all(1 + static_cast<std::size_t>(count));
    all.front() = {.device = "host", .capacity = here.memory, .reserve = here.reserve, .others = here.others};
    all.front().limit = resources_.memory;
    for (int d = 0; d < count; ++d) {
        const Accelerator& one = now.accelerators.at(static_cast<std::size_t>(first + d));
        all[static_cast<std::size_t>(d) + 1] = {
            .device = one.id, .capacity = one.memory, .reserve = one.reserve, .others = one.others};
    }
    for (const HeldResources& resources : held) {
        const Reservation& reservation = resources.reservation;
        if (host_of(now, reservation.device) != static_cast<int>(index)) continue;
        const bool on_cores = is_host(reservation.device);
        DeviceReservation& cores = all.front();
        cores.reserved += reservation.footprint.host_bytes + (on_cores ? reservation.footprint.device_bytes : 0);
        cores.used += resources.used.host_bytes;
        cores.cores += reservation.footprint.cores;
        ++cores.trials;
        for (int d = 0; d < count; ++d) {
            if (!computes_on(first + d, reservation.device, reservation.more)) continue;
            DeviceReservation& device = all[static_cast<std::size_t>(d) + 1];
            device.reserved += reservation.footprint.device_bytes;
            device.used += resources.used.device_bytes;
            ++device.trials;
        }
    }
    return all;
}

}  // namespace hpo::cluster
