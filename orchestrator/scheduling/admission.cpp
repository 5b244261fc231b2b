#include "orchestrator/scheduling/admission.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "hpo/text.hpp"

namespace hpo {

namespace {

Devices devices_of(const Machine& machine, bool usable_only) {
    Devices devices;
    for (std::size_t i = 0; i < machine.accelerators.size(); ++i)
        if (!usable_only || machine.accelerators[i].usable) devices.push_back(static_cast<int>(i));
    return devices;
}

Devices hosts_of(const Machine& machine) {
    Devices hosts;
    for (std::size_t host = 0; host < machine.hosts.size(); ++host) hosts.push_back(on_host(static_cast<int>(host)));
    return hosts;
}

/// Bytes of a device or of a host.
struct Reading {
    double capacity = 0;       ///< less the reserve
    double beside_others = 0;  ///< the part that other programs leave
    double free = 0;           ///< at this moment; infinite: not known
};

template <class Device>
Reading reading_of(const Device& device) {
    const double capacity = double(device.memory) - double(device.reserve);
    return {capacity, capacity - double(device.others),
            device.free ? double(*device.free) - double(device.reserve) : std::numeric_limits<double>::infinity()};
}

}  // namespace

Admission::Admission(const Machine& machine, std::optional<std::int64_t> parallel)
    : machine_(machine),
      empty_(machine, parallel, FreeResources::Of::all),
      total_(machine, parallel, FreeResources::Of::usable),
      free_(total_),
      later_(total_) {
    for (std::size_t host = 0; host < machine.hosts.size(); ++host) settle(on_host(int(host)));
    for (std::size_t device = 0; device < machine.accelerators.size(); ++device) settle(int(device));
}

// ---- Running trials.

Admission::Held Admission::held_by(const Reservation& reservation) {
    return {{reservation.footprint, reservation.alone}, hpo::devices_of(reservation)};
}

void Admission::hold(std::int64_t order, const Reservation& reservation) {
    const auto [held, fresh] = held_.emplace(order, held_by(reservation));
    if (fresh) take(held->second, 1);
}

void Admission::release(std::int64_t order) {
    const auto held = held_.find(order);
    if (held == held_.end()) return;
    take(held->second, -1);
    held_.erase(held);
}

void Admission::set_idle(int place, bool idle) {
    if (idle)
        idle_.insert(place);
    else
        idle_.erase(place);
}

void Admission::take(const Held& held, int sign) {
    free_.take(held.demand, held.devices, sign);
    later_.take(held.demand, held.devices, sign);
    settle(on_host(host_of(machine_, held.devices.front())));
    for (const int device : held.devices)
        if (!is_host(device) && std::size_t(device) < machine_.accelerators.size()) settle(device);
}

bool Admission::host_changed(int host) {
    if (!empty_.fits_layout_of(host)) return false;
    settle(on_host(host));
    for (const int device : empty_.devices_of(host)) settle(device);
    return true;
}

/// Sets the rest of a device or of a host. The memory that is free at this moment limits a device without trials of
/// ours even if all trials end.
void Admission::settle(int place) {
    Reading reading = is_host(place) ? reading_of(machine_.hosts[std::size_t(on_host(place))])
                                     : reading_of(machine_.accelerators[std::size_t(place)]);
    // Trials on its accelerators need the host's memory, too.
    if (is_host(place) && !machine_.hosts[std::size_t(on_host(place))].usable)
        reading.beside_others = reading.free = -std::numeric_limits<double>::infinity();
    const Pool& now = free_.pool_of(place);
    const double total = now.trials == 0 ? std::min(reading.beside_others, reading.free) : reading.beside_others;
    if (empty_.set_bytes(place, reading.capacity)) change_ = Change::all;
    if (total_.set_bytes(place, total)) change_ = std::max(change_, Change::beside_others);
    later_.set_bytes(place, total - now.taken);
    free_.set_bytes(place, std::min(reading.beside_others - now.taken, reading.free));
}

// ---- Waiting trials.

Admission::Fit Admission::fit_of(const TrialNeeds& trial) const {
    const Demand demand{trial.footprint, trial.alone};
    if (empty_.best(demand, trial.devices).empty()) return Fit::never;
    return total_.best(demand, trial.devices).empty() ? Fit::kept_out : Fit::yes;
}

std::optional<Admission::Launch> Admission::consider(const TrialNeeds& trial, Fit fit, Where joinable_on) {
    if (fit == Fit::never) return std::nullopt;
    const Demand demand{trial.footprint, trial.alone};
    if (!joinable_on.empty())
        if (const auto there = device_to_join(trial, demand, joinable_on))
            return launch(trial, {{trial.colocated, false}, {*there}}, true);
    if (fit == Fit::kept_out) return std::nullopt;
    if (Devices devices = free_.best(demand, trial.devices, spare()); !devices.empty()) {
        if (trial.devices <= 1) devices.front() = with_idle_worker(demand, devices.front());
        return launch(trial, {demand, std::move(devices)}, false);
    }
    if (!reserved_) reserve(trial, demand);
    return std::nullopt;
}

/// Returns a place with an idle worker that is as good as the best one but for its memory; else the best one.
int Admission::with_idle_worker(const Demand& demand, int best) const {
    if (idle_.contains(best)) return best;
    const auto replaces = [&](int place) {
        if (is_host(place) != is_host(best)) return false;
        const auto device = static_cast<std::size_t>(place);
        if (!is_host(place) && (device >= machine_.accelerators.size() || !machine_.accelerators[device].usable))
            return false;
        return free_.pool_of(place).trials <= free_.pool_of(best).trials && free_.holds(demand, only(place)) &&
               (!spare() || spare()->holds(demand, only(place)));
    };
    const auto found = std::find_if(idle_.begin(), idle_.end(), replaces);
    return found == idle_.end() ? best : *found;
}

void Admission::change(FreeResources& resources, const Held& held, int sign) {
    resources.take(held.demand, held.devices, sign);
    changes_.push_back({&resources, held, sign});
}

void Admission::forget() {
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change)
        change->resources->take(change->held.demand, change->held.devices, -change->sign);
    changes_.clear();
    launched_.clear();
    reserved_ = false;
}

Admission::Launch Admission::launch(const TrialNeeds& trial, Held held, bool joins) {
    change(free_, held, 1);
    change(later_, held, 1);
    launched_.push_back(held);
    return {trial.trial, held.devices.front(), joins, {held.devices.begin() + 1, held.devices.end()}};
}

std::optional<int> Admission::device_to_join(const TrialNeeds& trial, const Demand& apart, Where joinable_on) const {
    Devices there;
    std::copy_if(joinable_on.begin(), joinable_on.end(), std::back_inserter(there), [&](int device) {
        if (trial.devices == 0 || is_host(device)) return trial.devices == 0 && is_host(device);
        return std::size_t(device) < machine_.accelerators.size() && machine_.accelerators[std::size_t(device)].usable;
    });
    if (there.empty()) return {};
    const Devices unused = free_.best(apart, std::min<std::size_t>(trial.devices, 1), spare());
    if (!unused.empty() && !is_host(unused[0]) && free_.pool_of(unused[0]).trials == 0) return {};
    return free_.best_of({trial.colocated, false}, there, spare());
}

/// Reserves the place where the trial can start soonest. It starts at the latest when enough of the running trials, the
/// oldest first, have ended: trials that start before it must leave room beside the trials that still run then.
void Admission::reserve(const TrialNeeds& trial, const Demand& demand) {
    reserved_ = true;
    const std::vector<Held> launched = launched_;
    auto running = held_.begin();
    auto launch = launched.begin();
    while (true) {
        if (Devices best = later_.best(demand, trial.devices); !best.empty())
            return change(later_, {demand, std::move(best)}, 1);
        if (running != held_.end())
            change(later_, (running++)->second, -1);
        else if (launch != launched.end())
            change(later_, *launch++, -1);
        else
            return;
    }
}

// ---- Why not, with the numbers.

std::string Admission::too_large(const TrialNeeds& trial) const {
    const Demand demand{trial.footprint, trial.alone};
    if (trial.devices == 0)
        return empty_.shortage(demand, trial.footprint.cores, empty_.largest(hosts_of(machine_)), true);
    const Devices devices = devices_of(machine_, false);
    if (devices.empty()) return "needs an accelerator, and this machine has none that may be used";
    if (trial.devices > 1) return too_few(trial, demand, empty_, devices, "this study may use ");
    return empty_.shortage(demand, trial.footprint.cores, empty_.largest(devices), true);
}

/// Returns the reason why a trial that needs several devices at once does not start, with the numbers of the host that
/// has the most of them.
std::string Admission::too_few(const TrialNeeds& trial, const Demand& demand, const FreeResources& resources,
                               const Devices& devices, const char* which) const {
    std::vector<Devices> of_hosts(machine_.hosts.size());
    for (const int device : devices) of_hosts[std::size_t(host_of(machine_, device))].push_back(device);
    const Devices& where = *std::max_element(of_hosts.begin(), of_hosts.end(),
                                             [](const Devices& a, const Devices& b) { return a.size() < b.size(); });
    const auto fitting = std::count_if(where.begin(), where.end(), [&](int device) {
        return resources.holds({trial.footprint, false}, only(device));
    });
    std::string text = "needs " + std::to_string(trial.devices) +
                       " devices at once (resources.trial: gpus or processes), " + which +
                       std::to_string(where.size()) + (of_hosts.size() > 1 ? " on one host" : "");
    if (where.size() < trial.devices) return text;
    const bool empty = &resources == &empty_;
    if (const auto count = static_cast<std::size_t>(fitting); count < trial.devices && count > 0)
        return text + ", with " + bytes_text(demand.device_bytes) + " of memory for it: " + std::to_string(fitting);
    return text + "; it " + resources.shortage(demand, trial.footprint.cores, resources.largest(where), empty);
}

std::string Admission::kept_out(const TrialNeeds& trial) const {
    const auto& hosts = machine_.hosts;
    if (std::none_of(hosts.begin(), hosts.end(), [](const Machine::Host& host) { return host.usable; }))
        return "needs a host, and none can be reached at the moment";
    const Demand demand{trial.footprint, trial.alone};
    if (trial.devices == 0)
        return total_.shortage(demand, trial.footprint.cores, total_.largest(hosts_of(machine_)), false);
    const Devices usable = devices_of(machine_, true);
    if (trial.devices > 1) return too_few(trial, demand, total_, usable, "usable at the moment: ");
    Devices fitting;  // when empty
    std::copy_if(usable.begin(), usable.end(), std::back_inserter(fitting),
                 [&](int device) { return empty_.holds(demand, only(device)); });
    if (!fitting.empty()) return total_.shortage(demand, trial.footprint.cores, total_.largest(fitting), false);
    std::string aside;
    for (const int device : devices_of(machine_, false))
        if (empty_.holds(demand, only(device)))
            aside += (aside.empty() ? "" : ", ") + machine_.accelerators[std::size_t(device)].id;
    return "needs " + bytes_text(demand.device_bytes) + " of device memory; what it fits is set aside: " + aside;
}

}  // namespace hpo
