#include "orchestrator/scheduling/free_resources.hpp"

#include <algorithm>
#include <cmath>

#include "hpo/text.hpp"

namespace hpo {

namespace {

constexpr double rounding = 1e-9;  // of fractional cores

double slots_of(const std::optional<std::int64_t>& parallel) {
    return parallel ? double(std::max<std::int64_t>(*parallel, 1)) : std::numeric_limits<double>::infinity();
}

double exact_in_sums(double cores) { return std::floor(std::ldexp(cores, 20) + rounding) / std::ldexp(1.0, 20); }

/// "7.000 GiB (8.000 GiB less 1.000 GiB kept free and 3.000 GiB used by other programs)".
std::string what_it_gives(double bytes, double capacity, double reserve, double others, bool empty) {
    std::string text =
        bytes_text(std::max(bytes, 0.0)) + " (" + bytes_text(capacity) + " less " + bytes_text(reserve) + " kept free";
    if (empty) return text + ")";
    const double unexplained = capacity - reserve - others - bytes;
    text += " and " + bytes_text(others) + " used by other programs";
    if (unexplained >= 1) text += ", " + bytes_text(unexplained) + " more are not free";
    return text + ")";
}

}  // namespace

Demand::Demand(const Footprint& footprint, bool alone_)
    : cores(std::isfinite(footprint.cores) ? exact_in_sums(std::clamp(footprint.cores, 0.0, 1e9)) : 1e9),
      host_bytes(double(std::max<std::int64_t>(footprint.host_bytes, 0))),
      device_bytes(double(std::max<std::int64_t>(footprint.device_bytes, 0))),
      alone(alone_) {}

FreeResources::FreeResources(const Machine& machine, std::optional<std::int64_t> parallel, Of devices)
    : machine_(&machine),
      considered_(devices),
      slots_(slots_of(parallel)),
      hosts_(machine.hosts.size()),
      devices_(machine.accelerators.size()) {
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        hosts_[i].cores = hosts_[i].all_cores = machine.hosts[i].cores;
        hosts_[i].memory.bytes = double(machine.hosts[i].memory) - double(machine.hosts[i].reserve);
    }
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        const Accelerator& device = machine.accelerators[i];
        devices_[i].bytes = double(device.memory) - double(device.reserve);
        devices_[i].slots = slots_of(device.parallel);
        devices_[i].unified = device.unified;
        HostPool& host = hosts_.at(std::size_t(device.host));
        host.devices.push_back(int(i));
        host.any_unified = host.any_unified || device.unified;
        index_device(int(i), true);
    }
    for (std::size_t i = 0; i < hosts_.size(); ++i) index_host(int(i), true);
}

FreeResources::Key FreeResources::host_key(int host) const {
    const Pool& memory = hosts_[std::size_t(host)].memory;
    return {memory.trials, memory.bytes, host};
}

/// Adds a host to the index, or removes it. Its devices must be in their order when it is added, and unchanged when it
/// is removed.
void FreeResources::index_host(int host, bool in) {
    const HostPool& one = hosts_[std::size_t(host)];
    if (!one.memory.is_open() || one.memory.bytes < 0) return;  // it takes no trial, or is not reachable
    const auto set = [&](Order& order, const Key& key) {
        if (in)
            order.insert(key);
        else
            order.erase(key);
    };
    set(open_hosts_, host_key(host));
    const auto count = [&](std::multiset<double>& free, double amount) {
        if (in)
            free.insert(amount);
        else
            free.erase(free.find(amount));
    };
    count(open_cores_, one.cores);
    count(open_bytes_, one.memory.bytes);
    if (!one.open.empty()) set(hosts_by_device_, *one.open.begin());
}

void FreeResources::index_device(int device, bool in) {
    Order& open = hosts_[std::size_t(machine_->accelerators[std::size_t(device)].host)].open;
    if (!in)
        open.erase(key(device));
    else if (pool(device).is_open() && is_considered(device))
        open.insert(key(device));
}

bool FreeResources::is_considered(int device) const {
    return considered_ == Of::all || machine_->accelerators[std::size_t(device)].usable;
}

bool FreeResources::fits_layout_of(int host) const {
    const HostPool& one = hosts_[std::size_t(host)];
    return one.all_cores == machine_->hosts[std::size_t(host)].cores &&
           std::all_of(one.devices.begin(), one.devices.end(), [&](int device) {
               return pool(device).unified == machine_->accelerators[std::size_t(device)].unified;
           });
}

bool FreeResources::set_bytes(int place, double bytes) {
    const int host = host_of(*machine_, place);
    HostPool& one = hosts_[std::size_t(host)];
    Pool& pool = is_host(place) ? one.memory : devices_[std::size_t(place)];
    const bool is_device = !is_host(place);
    const bool was_open = is_device && one.open.contains(key(place));
    const bool is_open = is_device && pool.is_open() && is_considered(place);
    if (pool.bytes == bytes && was_open == is_open) return false;
    index_host(host, false);
    if (is_device) index_device(place, false);
    pool.bytes = bytes;
    if (is_device) index_device(place, true);
    index_host(host, true);
    return true;
}

void FreeResources::take(const Demand& demand, Where devices, int sign) {
    const int index = host_of(*machine_, devices.front());
    HostPool& host = hosts_[std::size_t(index)];
    index_host(index, false);
    slots_ -= sign;
    host.cores -= sign * demand.cores;
    host.memory.take(host_bytes(demand, devices), demand.alone && shares_host(devices.front()), sign);
    for (const int device : devices) {
        if (!known(device)) continue;
        index_device(device, false);
        devices_[std::size_t(device)].take(demand.device_bytes, demand.alone && !shares_host(device), sign);
        index_device(device, true);
    }
    index_host(index, true);
}

bool FreeResources::host_holds(const Demand& demand, int place, double bytes) const {
    const HostPool& one = host(place);
    return slots_ >= 1 && demand.cores <= one.cores + rounding && one.memory.holds(bytes);
}

bool FreeResources::holds(const Demand& demand, Where devices) const {
    if (!host_holds(demand, devices.front(), host_bytes(demand, devices))) return false;
    return std::all_of(devices.begin(), devices.end(), [&](int device) {
        if (known(device) && !pool(device).holds(demand.device_bytes)) return false;
        return !demand.alone || (shares_host(device) ? host(device).memory.trials : pool(device).trials) == 0;
    });
}

Devices FreeResources::best(const Demand& demand, std::size_t count, const FreeResources* other) const {
    if (exceeds_all_hosts(demand)) return {};
    if (count == 0) return best_host(demand, other);
    Devices found;
    for (const Key& first : hosts_by_device_) {
        if (!found.empty() && key(found.back()) < first) break;  // all hosts that follow have less
        Devices here = best_on(host(first.place), demand, count, other);
        if (!here.empty() && (found.empty() || key(here.back()) < key(found.back()))) found = std::move(here);
    }
    return found;
}

/// Returns true if no open host has as many cores, or none as many bytes: then a queue costs no look at each host for
/// each trial. Where some hosts have the cores and others the bytes, it does.
bool FreeResources::exceeds_all_hosts(const Demand& demand) const {
    return open_cores_.empty() || demand.cores > *open_cores_.rbegin() + rounding ||
           demand.host_bytes > *open_bytes_.rbegin();
}

Devices FreeResources::best_host(const Demand& demand, const FreeResources* other) const {
    for (const Key& one : open_hosts_) {
        const int place = on_host(one.place);
        if (holds(demand, only(place)) && (!other || other->holds(demand, only(place)))) return {place};
    }
    return {};
}

Devices FreeResources::best_on(const HostPool& host, const Demand& demand, std::size_t count,
                               const FreeResources* other) const {
    const auto fits = [&](Where devices) {
        return holds(demand, devices) && (!other || other->holds(demand, devices));
    };
    // The demand on the host's memory is the same on all devices, or more on those whose memory is the host's.
    const int any = host.devices.front();
    if (!host_holds(demand, any, demand.host_bytes) || (other && !other->host_holds(demand, any, demand.host_bytes)))
        return {};
    Devices found;
    for (auto at = host.open.begin(); at != host.open.end() && found.size() < count;) {
        if (demand.alone && at->trials > 0 && !host.any_unified) break;
        if (at->bytes < demand.device_bytes) {  // all others with the same number of trials have less room
            at = host.open.upper_bound({at->trials, -std::numeric_limits<double>::infinity(), 0});
            continue;
        }
        if (fits(only(at->place))) found.push_back(at->place);
        ++at;
    }
    if (found.size() < count) return {};
    // One by one they fit; together they may ask too much of a host whose memory they share.
    return count == 1 || fits(found) ? found : Devices{};
}

std::optional<int> FreeResources::best_of(const Demand& demand, Where devices, const FreeResources* other) const {
    std::optional<int> best;
    for (const int& device : devices) {
        const Pool& one = pool_of(device);
        if (best) {
            const Pool& found = pool_of(*best);
            if (one.trials != found.trials ? one.trials > found.trials : one.bytes <= found.bytes) continue;
        }
        if (holds(demand, only(device)) && (!other || other->holds(demand, only(device)))) best = device;
    }
    return best;
}

int FreeResources::largest(Where devices) const {
    return *std::max_element(devices.begin(), devices.end(),
                             [&](int a, int b) { return pool_of(a).bytes < pool_of(b).bytes; });
}

bool FreeResources::shares_host(int device) const { return !known(device) || pool(device).unified; }

double FreeResources::host_bytes(const Demand& demand, Where devices) const {
    double bytes = demand.host_bytes;
    for (const int device : devices) {
        // Memory of a device that is gone was not the host's.
        const bool here = is_host(device) || (known(device) && shares_host(device));
        bytes += here ? demand.device_bytes : 0;
    }
    return bytes;
}

std::string FreeResources::shortage(const Demand& demand, double cores, int device, bool empty) const {
    const HostPool& here = host(device);
    const Machine::Host& reading = machine_->hosts[std::size_t(host_of(*machine_, device))];
    const std::string name = hosts_.size() > 1 ? "largest host" : "machine";
    if (demand.cores > here.cores + rounding)
        return "needs " + cores_text(cores) + ", " + (hosts_.size() > 1 ? "the " : "this ") + name + " gives " +
               cores_text(here.cores);
    if (const double bytes = host_bytes(demand, only(device)); bytes > here.memory.bytes)
        return "needs " + bytes_text(bytes) + " of memory, but the " + (empty ? "empty " : "") + name + " gives " +
               what_it_gives(here.memory.bytes, double(reading.memory), double(reading.reserve), double(reading.others),
                             empty);
    if (known(device) && demand.device_bytes > pool(device).bytes) {
        const Accelerator& where = machine_->accelerators[std::size_t(device)];
        return "needs " + bytes_text(demand.device_bytes) + " of device memory, but " +
               (devices_.size() > 1 ? "the largest device, " + where.id + "," : where.id) +
               (empty ? " gives at most " : " gives ") +
               what_it_gives(pool(device).bytes, double(where.memory), double(where.reserve), double(where.others),
                             empty);
    }
    return {};
}

}  // namespace hpo
