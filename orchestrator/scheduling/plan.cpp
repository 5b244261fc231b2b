#include "orchestrator/scheduling/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hpo/units.hpp"

namespace hpo {
namespace {

/// Indices of accelerators, or the host alone; none: nowhere.
using Devices = std::vector<int>;
using Where = std::span<const int>;

Where only(const int& device) { return {&device, 1}; }

Devices devices_of(int device, const std::vector<int>& more) {
    Devices all{device};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

/// What one trial takes. Doubles: whole numbers of bytes up to 2^53 are exact, and no sum overflows.
struct Demand {
    double cores = 0;
    double host_bytes = 0;
    double device_bytes = 0;
    bool alone = false;

    Demand(const Footprint& footprint, bool alone_)
        : cores(std::isfinite(footprint.cores) ? std::max(footprint.cores, 0.0) : 1e9),
          host_bytes(double(std::max<std::int64_t>(footprint.host_bytes, 0))),
          device_bytes(double(std::max<std::int64_t>(footprint.device_bytes, 0))),
          alone(alone_) {}
};

/// What trials share: the memory of the host or of one device.
struct Pool {
    double bytes = 0;
    double slots = std::numeric_limits<double>::infinity();  ///< further trials
    int trials = 0;
    int alone = 0;  ///< of them, those that keep others away

    void take(double taken, bool is_alone, int sign) {
        bytes -= sign * taken;
        slots -= sign;
        trials += sign;
        if (is_alone) alone += sign;
    }
    [[nodiscard]] bool holds(double needed) const { return needed <= bytes && slots >= 1 && alone == 0; }
};

double slots_of(const std::optional<std::int64_t>& parallel) {
    return parallel ? double(std::max<std::int64_t>(*parallel, 1)) : std::numeric_limits<double>::infinity();
}

/// What is left of a machine: the host, which every trial draws on, and its devices.
class Capacity {
   public:
    Capacity(const Machine& machine, std::optional<std::int64_t> parallel)
        : machine_(&machine), cores_(machine.cores), devices_(machine.accelerators.size()) {
        host_.bytes = double(machine.memory) - double(machine.memory_reserve);
        host_.slots = slots_of(parallel);
        for (std::size_t i = 0; i < devices_.size(); ++i) {
            const Accelerator& device = machine.accelerators[i];
            devices_[i].bytes = double(device.memory) - double(device.reserve);
            devices_[i].slots = slots_of(device.parallel);
        }
    }

    void take_others() {
        host_.bytes -= double(machine_->memory_others);
        for (std::size_t i = 0; i < devices_.size(); ++i) devices_[i].bytes -= double(machine_->accelerators[i].others);
    }

    /// No more than is free by the live readings: everywhere, or only where nothing of ours runs, which might end.
    void limit_to_free(const Capacity* running = nullptr) {
        const auto limit = [](Pool& pool, const Pool* ours, const std::optional<std::int64_t>& free, double reserve) {
            if (free && (!ours || ours->trials == 0)) pool.bytes = std::min(pool.bytes, double(*free) - reserve);
        };
        limit(host_, running ? &running->host_ : nullptr, machine_->memory_free, double(machine_->memory_reserve));
        for (std::size_t i = 0; i < devices_.size(); ++i) {
            const Accelerator& device = machine_->accelerators[i];
            limit(devices_[i], running ? &running->devices_[i] : nullptr, device.free, double(device.reserve));
        }
    }

    void take(const Demand& demand, Where devices, int sign = 1) {
        cores_ -= sign * demand.cores;
        host_.take(host_bytes(demand, devices), demand.alone && shares_host(devices.front()), sign);
        for (const int device : devices)
            if (known(device)) pool(device).take(demand.device_bytes, demand.alone && !shares_host(device), sign);
    }
    void give_back(const Demand& demand, Where devices) { take(demand, devices, -1); }

    [[nodiscard]] bool holds(const Demand& demand, Where devices) const {
        constexpr double rounding = 1e-9;  // of sums of fractional cores
        if (demand.cores > cores_ + rounding || !host_.holds(host_bytes(demand, devices))) return false;
        return std::all_of(devices.begin(), devices.end(), [&](int device) {
            if (known(device) && !pool(device).holds(demand.device_bytes)) return false;
            return !demand.alone || (shares_host(device) ? host_.trials : pool(device).trials) == 0;
        });
    }

    /// Whether `count` of the devices hold it.
    [[nodiscard]] bool holds_on(const Demand& demand, Where where, std::size_t count) const {
        if (count > 1) return !best(demand, where, count).empty();
        return std::any_of(where.begin(), where.end(), [&](const int& device) { return holds(demand, only(device)); });
    }

    /// `count` of the devices that hold it, here and in the `other` room, the best first; none: there are not as many.
    [[nodiscard]] Devices best(const Demand& demand, Where where, std::size_t count,
                               const Capacity* other = nullptr) const {
        const auto fits = [&](Where devices) {
            return holds(demand, devices) && (!other || other->holds(demand, devices));
        };
        if (count == 1) {  // the usual case, without a sort
            const int* best = nullptr;
            for (const int& device : where)
                if ((!best || better(pool_of(device), pool_of(*best))) && fits(only(device))) best = &device;
            return best ? Devices{*best} : Devices{};
        }
        Devices fitting;
        for (const int& device : where)
            if (fits(only(device))) fitting.push_back(device);
        if (fitting.size() < count) return {};
        std::stable_sort(fitting.begin(), fitting.end(),
                         [&](int one, int two) { return better(pool_of(one), pool_of(two)); });
        fitting.resize(count);
        // One by one they fit; together they may ask too much of a host whose memory they share.
        return fits(fitting) ? fitting : Devices{};
    }

    /// The host as a device of its own where a trial asks for none.
    [[nodiscard]] const Pool& pool_of(int device) const { return known(device) ? pool(device) : host_; }

    /// In what a trial is too large for this room, if it is by cores or bytes.
    [[nodiscard]] std::string shortage(const Demand& demand, double cores, int device, bool empty) const;

   private:
    [[nodiscard]] bool known(int device) const { return device >= 0 && std::size_t(device) < devices_.size(); }
    [[nodiscard]] Pool& pool(int device) { return devices_[std::size_t(device)]; }
    [[nodiscard]] const Pool& pool(int device) const { return devices_[std::size_t(device)]; }
    [[nodiscard]] bool shares_host(int device) const {
        return !known(device) || machine_->accelerators[std::size_t(device)].unified;
    }
    [[nodiscard]] double host_bytes(const Demand& demand, Where devices) const {
        double bytes = demand.host_bytes;
        for (const int device : devices) {
            // What a device that is gone held was not the host's.
            const bool here = device == host_only || (known(device) && shares_host(device));
            bytes += here ? demand.device_bytes : 0;
        }
        return bytes;
    }
    /// The device with the fewest trials, then the most room, then the first.
    static bool better(const Pool& one, const Pool& other) {
        return one.trials != other.trials ? one.trials < other.trials : one.bytes > other.bytes;
    }

    const Machine* machine_;
    double cores_;
    Pool host_;
    std::vector<Pool> devices_;
};

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

std::string Capacity::shortage(const Demand& demand, double cores, int device, bool empty) const {
    if (demand.cores > cores_ + 1e-9)
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

/// The plan's state while it goes through those that wait.
class Planner {
   public:
    Planner(const Machine& machine, std::span<const Reservation> running, std::optional<std::int64_t> parallel)
        : machine_(machine), empty_(machine, parallel), total_(empty_), free_(empty_), running_(running) {
        for (const Reservation& reservation : running)
            on_devices_of(reservation, [&](const Demand& demand, Where devices) { free_.take(demand, devices); });
        total_.take_others();
        total_.limit_to_free(&free_);
        free_.take_others();
        free_.limit_to_free();
        for (std::size_t i = 0; i < machine.accelerators.size(); ++i) {
            devices_.push_back(static_cast<int>(i));
            if (machine.accelerators[i].usable) usable_.push_back(static_cast<int>(i));
        }
    }

    void consider(const Waiting& trial) {
        const Demand demand{trial.footprint, trial.alone};
        const std::span<const int> all = trial.on_device ? std::span<const int>(devices_) : host_;
        const std::span<const int> usable = trial.on_device ? std::span<const int>(usable_) : host_;
        const std::size_t count = trial.on_device ? std::max<std::size_t>(1, trial.devices) : 1;
        const auto can = [&](const Capacity& capacity, std::span<const int> where) {
            return capacity.holds_on(demand, where, count);
        };
        if (!can(empty_, all)) {
            admission_.never.push_back({trial.trial, too_large(trial, demand)});
        } else if (const auto there = device_to_join(trial, demand, usable)) {
            launch(trial.trial, {trial.colocated, false}, only(*there), true);
        } else if (!can(total_, usable)) {
            if (!admission_.kept_out) admission_.kept_out = {trial.trial, kept_out(trial, demand)};
        } else if (const auto devices = best_devices(demand, usable, count); !devices.empty()) {
            launch(trial.trial, demand, devices, false);
        } else if (!spare_) {
            reserve(demand, usable, count);
        }
    }

    Admission take_admission() { return std::move(admission_); }

   private:
    struct Held {
        Demand demand;
        Devices devices;
    };

    /// Calls `use` with what the trial takes and where.
    template <class Use>
    static void on_devices_of(const Reservation& reservation, Use&& use) {
        const Demand demand{reservation.footprint, reservation.alone};
        if (reservation.more.empty()) return use(demand, only(reservation.device));
        use(demand, devices_of(reservation.device, reservation.more));
    }

    void launch(std::int64_t trial, const Demand& demand, Where devices, bool joins) {
        admission_.launch.push_back({trial, devices.front(), joins, {devices.begin() + 1, devices.end()}});
        free_.take(demand, devices);
        launched_.push_back({demand, {devices.begin(), devices.end()}});
        if (spare_) spare_->take(demand, devices);
    }

    [[nodiscard]] std::optional<int> device_to_join(const Waiting& trial, const Demand& alone,
                                                    std::span<const int> usable) const {
        std::vector<int> there;
        std::copy_if(trial.joinable_on.begin(), trial.joinable_on.end(), std::back_inserter(there),
                     [&](int device) { return std::find(usable.begin(), usable.end(), device) != usable.end(); });
        if (there.empty()) return {};
        const auto unused = best_devices(alone, usable, 1);
        if (!unused.empty() && unused[0] != host_only && free_.pool_of(unused[0]).trials == 0) return {};
        const auto best = best_devices({trial.colocated, false}, there, 1);
        return best.empty() ? std::nullopt : std::optional(best.front());
    }

    /// Where it may start now.
    [[nodiscard]] Devices best_devices(const Demand& demand, std::span<const int> usable, std::size_t count) const {
        return free_.best(demand, usable, count, spare_ ? &*spare_ : nullptr);
    }

    /// It starts at the latest when the oldest of the running ones, as many as it needs, have ended: what goes before
    /// it must leave room beside those that are then still there.
    void reserve(const Demand& demand, std::span<const int> usable, std::size_t count) {
        Capacity later = total_;
        for (const Reservation& reservation : running_)
            on_devices_of(reservation, [&](const Demand& held, Where devices) { later.take(held, devices); });
        for (const Held& held : launched_) later.take(held.demand, held.devices);
        const std::size_t count_held = running_.size() + launched_.size();
        for (std::size_t oldest = 0;; ++oldest) {
            const Devices best = later.best(demand, usable, count);
            if (!best.empty() || oldest == count_held) {
                if (!best.empty()) later.take(demand, best);
                spare_ = later;
                return;
            }
            if (oldest < running_.size())
                on_devices_of(running_[oldest],
                              [&](const Demand& held, Where devices) { later.give_back(held, devices); });
            else
                later.give_back(launched_[oldest - running_.size()].demand,
                                launched_[oldest - running_.size()].devices);
        }
    }

    [[nodiscard]] int largest(const Capacity& capacity, std::span<const int> where) const {
        return *std::max_element(where.begin(), where.end(),
                                 [&](int a, int b) { return capacity.pool_of(a).bytes < capacity.pool_of(b).bytes; });
    }

    [[nodiscard]] std::string too_large(const Waiting& trial, const Demand& demand) const {
        if (!trial.on_device) return empty_.shortage(demand, trial.footprint.cores, host_only, true);
        if (devices_.empty()) return "needs an accelerator, and this machine has none that may be used";
        if (trial.devices > 1) return too_few(trial, demand, empty_, devices_, "this study may use ");
        return empty_.shortage(demand, trial.footprint.cores, largest(empty_, devices_), true);
    }

    /// Of a trial that needs several devices at once: the numbers.
    [[nodiscard]] std::string too_few(const Waiting& trial, const Demand& demand, const Capacity& capacity,
                                      const std::vector<int>& where, const char* which) const {
        const auto fitting = std::count_if(where.begin(), where.end(), [&](int device) {
            return capacity.holds({trial.footprint, false}, only(device));
        });
        std::string text = "needs " + std::to_string(trial.devices) + " devices at once (resources.trial.gpus), " +
                           which + std::to_string(where.size());
        if (where.size() < trial.devices) return text;
        const bool empty = &capacity == &empty_;
        if (const auto count = static_cast<std::size_t>(fitting); count < trial.devices && count > 0)
            return text + ", with " + bytes_text(demand.device_bytes) + " of memory for it: " + std::to_string(fitting);
        return text + "; it " + capacity.shortage(demand, trial.footprint.cores, largest(capacity, where), empty);
    }

    [[nodiscard]] std::string kept_out(const Waiting& trial, const Demand& demand) const {
        if (!trial.on_device) return total_.shortage(demand, trial.footprint.cores, host_only, false);
        if (trial.devices > 1) return too_few(trial, demand, total_, usable_, "usable at the moment: ");
        std::vector<int> fitting;  // when empty
        std::copy_if(usable_.begin(), usable_.end(), std::back_inserter(fitting),
                     [&](int device) { return empty_.holds(demand, only(device)); });
        if (!fitting.empty()) return total_.shortage(demand, trial.footprint.cores, largest(total_, fitting), false);
        std::string aside;
        for (const int device : devices_)
            if (empty_.holds(demand, only(device)))
                aside += (aside.empty() ? "" : ", ") + machine_.accelerators[std::size_t(device)].id;
        return "needs " + bytes_text(demand.device_bytes) + " of device memory; what it fits is set aside: " + aside;
    }

    const Machine& machine_;
    Capacity empty_;                        ///< without other programs and trials
    Capacity total_;                        ///< without trials
    Capacity free_;                         ///< now
    std::optional<Capacity> spare_;         ///< what the reservation leaves over; absent: none made yet
    std::span<const Reservation> running_;  ///< oldest first
    std::vector<Held> launched_;            ///< after those
    std::vector<int> devices_, usable_;
    static constexpr int host_[] = {host_only};
    Admission admission_;
};

}  // namespace

Admission admit(const Machine& machine, std::span<const Reservation> running, std::span<const Waiting> waiting,
                std::optional<std::int64_t> parallel) {
    Planner planner(machine, running, parallel);
    for (const Waiting& trial : waiting) planner.consider(trial);
    return planner.take_admission();
}

}  // namespace hpo
