#include "orchestrator/scheduling/free_resources.hpp"

#include <algorithm>
#include <cmath>

#include "hpo/units.hpp"

namespace hpo {

namespace {

constexpr double rounding = 1e-9;  // of fractional cores

double slots_of(const std::optional<std::int64_t>& parallel) {
    return parallel ? double(std::max<std::int64_t>(*parallel, 1)) : std::numeric_limits<double>::infinity();
}

double exact_in_sums(double cores) { return std::floor(std::ldexp(cores, 20) + rounding) / std::ldexp(1.0, 20); }

std::string number_of_cores(double cores) { return short_number(cores) + (cores == 1 ? " core" : " cores"); }

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
    : machine_(&machine), considered_(devices), cores_(machine.cores), devices_(machine.accelerators.size()) {
    host_.bytes = double(machine.memory) - double(machine.memory_reserve);
    host_.slots = slots_of(parallel);
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        const Accelerator& device = machine.accelerators[i];
        devices_[i].bytes = double(device.memory) - double(device.reserve);
        devices_[i].slots = slots_of(device.parallel);
        any_unified_ = any_unified_ || device.unified;
    }
    index();
}

void FreeResources::index() {
    open_.clear();
    for (std::size_t i = 0; i < devices_.size(); ++i)
        if (devices_[i].is_open() && (considered_ == Of::all || machine_->accelerators[i].usable))
            open_.insert(key(static_cast<int>(i)));
}

void FreeResources::take_others() {
    host_.bytes -= double(machine_->memory_others);
    for (std::size_t i = 0; i < devices_.size(); ++i) devices_[i].bytes -= double(machine_->accelerators[i].others);
    index();
}

void FreeResources::limit_to_free(const FreeResources* running) {
    const auto limit = [](Pool& pool, const Pool* ours, const std::optional<std::int64_t>& free, double reserve) {
        if (free && (!ours || ours->trials == 0)) pool.bytes = std::min(pool.bytes, double(*free) - reserve);
    };
    limit(host_, running ? &running->host_ : nullptr, machine_->memory_free, double(machine_->memory_reserve));
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        const Accelerator& device = machine_->accelerators[i];
        limit(devices_[i], running ? &running->devices_[i] : nullptr, device.free, double(device.reserve));
    }
    index();
}

void FreeResources::take(const Demand& demand, Where devices, int sign) {
    cores_ -= sign * demand.cores;
    host_.take(host_bytes(demand, devices), demand.alone && shares_host(devices.front()), sign);
    for (const int device : devices) {
        if (!known(device)) continue;
        Pool& pool = devices_[std::size_t(device)];
        if (pool.is_open()) open_.erase(key(device));
        pool.take(demand.device_bytes, demand.alone && !shares_host(device), sign);
        const bool considered = considered_ == Of::all || machine_->accelerators[std::size_t(device)].usable;
        if (pool.is_open() && considered) open_.insert(key(device));
    }
}

bool FreeResources::host_holds(const Demand& demand, double bytes) const {
    return demand.cores <= cores_ + rounding && host_.holds(bytes);
}

bool FreeResources::holds(const Demand& demand, Where devices) const {
    if (!host_holds(demand, host_bytes(demand, devices))) return false;
    return std::all_of(devices.begin(), devices.end(), [&](int device) {
        if (known(device) && !pool(device).holds(demand.device_bytes)) return false;
        return !demand.alone || (shares_host(device) ? host_.trials : pool(device).trials) == 0;
    });
}

Devices FreeResources::best(const Demand& demand, std::size_t count, const FreeResources* other) const {
    const auto fits = [&](Where devices) {
        return holds(demand, devices) && (!other || other->holds(demand, devices));
    };
    static constexpr int host = host_only;
    if (count == 0) return fits(only(host)) ? Devices{host} : Devices{};
    // The host's share of it is the same on all devices, or more on those whose memory is the host's.
    if (!host_holds(demand, demand.host_bytes) || (other && !other->host_holds(demand, demand.host_bytes))) return {};
    Devices found;
    for (auto at = open_.begin(); at != open_.end() && found.size() < count;) {
        if (demand.alone && at->trials > 0 && !any_unified_) break;
        if (at->bytes < demand.device_bytes) {  // all others with as many trials have less room
            at = open_.upper_bound({at->trials, -std::numeric_limits<double>::infinity(), 0});
            continue;
        }
        if (fits(only(at->device))) found.push_back(at->device);
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

bool FreeResources::shares_host(int device) const {
    return !known(device) || machine_->accelerators[std::size_t(device)].unified;
}

double FreeResources::host_bytes(const Demand& demand, Where devices) const {
    double bytes = demand.host_bytes;
    for (const int device : devices) {
        // What a device that is gone held was not the host's.
        const bool here = device == host_only || (known(device) && shares_host(device));
        bytes += here ? demand.device_bytes : 0;
    }
    return bytes;
}

std::string FreeResources::shortage(const Demand& demand, double cores, int device, bool empty) const {
    if (demand.cores > cores_ + rounding)
        return "needs " + number_of_cores(cores) + ", this machine gives " + number_of_cores(cores_);
    if (const double bytes = host_bytes(demand, only(device)); bytes > host_.bytes)
        return "needs " + bytes_text(bytes) + " of memory, but the " + (empty ? "empty " : "") + "machine gives " +
               what_it_gives(host_.bytes, double(machine_->memory), double(machine_->memory_reserve),
                             double(machine_->memory_others), empty);
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
