#include "orchestrator/scheduling/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hpo/units.hpp"

namespace hpo {
namespace {

/// What one trial takes. Doubles: whole numbers of bytes up to 2^53 are exact, and no sum overflows.
struct Need {
    double cores = 0;
    double host_bytes = 0;
    double device_bytes = 0;
    bool alone = false;

    Need(const Footprint& footprint, bool alone_)
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
class Room {
   public:
    Room(const Machine& machine, std::optional<std::int64_t> parallel)
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
    void limit_to_free(const Room* running = nullptr) {
        const auto limit = [](Pool& pool, const Pool* ours, const std::optional<std::int64_t>& free, double reserve) {
            if (free && (!ours || ours->trials == 0)) pool.bytes = std::min(pool.bytes, double(*free) - reserve);
        };
        limit(host_, running ? &running->host_ : nullptr, machine_->memory_free, double(machine_->memory_reserve));
        for (std::size_t i = 0; i < devices_.size(); ++i) {
            const Accelerator& device = machine_->accelerators[i];
            limit(devices_[i], running ? &running->devices_[i] : nullptr, device.free, double(device.reserve));
        }
    }

    void take(const Need& need, int device, int sign = 1) {
        const bool whole_machine = shares_host(device);
        cores_ -= sign * need.cores;
        host_.take(host_bytes(need, device), need.alone && whole_machine, sign);
        if (known(device)) pool(device).take(need.device_bytes, need.alone && !whole_machine, sign);
    }
    void give_back(const Need& need, int device) { take(need, device, -1); }

    [[nodiscard]] bool holds(const Need& need, int device) const {
        constexpr double rounding = 1e-9;  // of sums of fractional cores
        if (need.cores > cores_ + rounding || !host_.holds(host_bytes(need, device))) return false;
        if (known(device) && !pool(device).holds(need.device_bytes)) return false;
        return !need.alone || (shares_host(device) ? host_.trials : pool(device).trials) == 0;
    }

    /// The host as a device of its own where a trial asks for none.
    [[nodiscard]] const Pool& pool_of(int device) const { return known(device) ? pool(device) : host_; }

    /// In what a trial is too large for this room, if it is by cores or bytes.
    [[nodiscard]] std::string shortage(const Need& need, double cores, int device, bool empty) const;

   private:
    [[nodiscard]] bool known(int device) const { return device >= 0 && std::size_t(device) < devices_.size(); }
    [[nodiscard]] Pool& pool(int device) { return devices_[std::size_t(device)]; }
    [[nodiscard]] const Pool& pool(int device) const { return devices_[std::size_t(device)]; }
    [[nodiscard]] bool shares_host(int device) const {
        return !known(device) || machine_->accelerators[std::size_t(device)].unified;
    }
    [[nodiscard]] double host_bytes(const Need& need, int device) const {
        // What a device that is gone held was not the host's.
        const bool here = device == host_only || (known(device) && shares_host(device));
        return need.host_bytes + (here ? need.device_bytes : 0);
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

std::string Room::shortage(const Need& need, double cores, int device, bool empty) const {
    if (need.cores > cores_ + 1e-9)
        return "needs " + number_of_cores(cores) + ", this machine gives " + number_of_cores(cores_);
    if (const double bytes = host_bytes(need, device); bytes > host_.bytes)
        return "needs " + bytes_text(bytes) + " of memory, but the " + (empty ? "empty " : "") + "machine gives " +
               what_it_gives(host_.bytes, double(machine_->memory), double(machine_->memory_reserve),
                             double(machine_->memory_others), empty);
    if (known(device) && need.device_bytes > pool(device).bytes) {
        const Accelerator& where = machine_->accelerators[std::size_t(device)];
        return "needs " + bytes_text(need.device_bytes) + " of device memory, but " +
               (devices_.size() > 1 ? "the roomiest device, " + where.id + "," : where.id) +
               (empty ? " gives at most " : " gives ") +
               what_it_gives(pool(device).bytes, double(where.memory), double(where.reserve), double(where.others),
                             empty);
    }
    return {};
}

/// The plan's state while it goes through those that wait.
class Planner {
   public:
    Planner(const Machine& machine, std::span<const Booking> running, std::optional<std::int64_t> parallel)
        : machine_(machine), empty_(machine, parallel), total_(empty_), free_(empty_) {
        for (const Booking& booking : running) hold({booking.footprint, booking.alone}, booking.device);
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
        const Need need{trial.footprint, trial.alone};
        const std::span<const int> all = trial.on_device ? std::span<const int>(devices_) : host_;
        const std::span<const int> usable = trial.on_device ? std::span<const int>(usable_) : host_;
        const auto can = [&](const Room& room, std::span<const int> where) {
            return std::any_of(where.begin(), where.end(), [&](int device) { return room.holds(need, device); });
        };
        if (!can(empty_, all)) {
            admission_.never.push_back({trial.trial, too_large(trial, need)});
        } else if (const auto there = device_beside(trial, need, usable)) {
            launch(trial.trial, {trial.beside, false}, *there, true);
        } else if (!can(total_, usable)) {
            if (!admission_.kept_out) admission_.kept_out = {trial.trial, kept_out(trial, need)};
        } else if (const auto device = best_device(need, usable)) {
            launch(trial.trial, need, *device, false);
        } else if (!spare_) {
            reserve(need, usable);
        }
    }

    Admission take_admission() { return std::move(admission_); }

   private:
    struct Held {
        Need need;
        int device;
    };

    void hold(const Need& need, int device) {
        free_.take(need, device);
        held_.push_back({need, device});
    }

    void launch(std::int64_t trial, const Need& need, int device, bool beside) {
        admission_.launch.push_back({trial, device, beside});
        hold(need, device);
        if (spare_) spare_->take(need, device);
    }

    [[nodiscard]] std::optional<int> device_beside(const Waiting& trial, const Need& alone,
                                                   std::span<const int> usable) const {
        std::vector<int> there;
        std::copy_if(trial.beside_on.begin(), trial.beside_on.end(), std::back_inserter(there),
                     [&](int device) { return std::find(usable.begin(), usable.end(), device) != usable.end(); });
        if (there.empty()) return {};
        const auto unused = best_device(alone, usable);
        if (unused && *unused != host_only && free_.pool_of(*unused).trials == 0) return {};
        return best_device({trial.beside, false}, there);
    }

    /// Where it may start now: the device with the fewest trials, then the most room, then the first.
    [[nodiscard]] std::optional<int> best_device(const Need& need, std::span<const int> usable) const {
        std::optional<int> best;
        for (const int device : usable) {
            if (!free_.holds(need, device) || (spare_ && !spare_->holds(need, device))) continue;
            if (!best || better(free_.pool_of(device), free_.pool_of(*best))) best = device;
        }
        return best;
    }
    static bool better(const Pool& one, const Pool& other) {
        return one.trials != other.trials ? one.trials < other.trials : one.bytes > other.bytes;
    }

    /// It starts at the latest when the oldest of the running ones, as many as it needs, have ended: what goes before
    /// it must leave room beside those that are then still there.
    void reserve(const Need& need, std::span<const int> usable) {
        Room later = total_;
        for (const Held& held : held_) later.take(held.need, held.device);
        for (auto oldest = held_.begin();; ++oldest) {
            std::optional<int> best;
            for (const int device : usable)
                if (later.holds(need, device) && (!best || better(later.pool_of(device), later.pool_of(*best))))
                    best = device;
            if (best || oldest == held_.end()) {
                if (best) later.take(need, *best);
                spare_ = later;
                return;
            }
            later.give_back(oldest->need, oldest->device);
        }
    }

    [[nodiscard]] int roomiest(const Room& room, std::span<const int> where) const {
        return *std::max_element(where.begin(), where.end(),
                                 [&](int a, int b) { return room.pool_of(a).bytes < room.pool_of(b).bytes; });
    }

    [[nodiscard]] std::string too_large(const Waiting& trial, const Need& need) const {
        if (!trial.on_device) return empty_.shortage(need, trial.footprint.cores, host_only, true);
        if (devices_.empty()) return "needs an accelerator, and this machine has none that may be used";
        return empty_.shortage(need, trial.footprint.cores, roomiest(empty_, devices_), true);
    }

    [[nodiscard]] std::string kept_out(const Waiting& trial, const Need& need) const {
        if (!trial.on_device) return total_.shortage(need, trial.footprint.cores, host_only, false);
        std::vector<int> fitting;  // when empty
        std::copy_if(usable_.begin(), usable_.end(), std::back_inserter(fitting),
                     [&](int device) { return empty_.holds(need, device); });
        if (!fitting.empty()) return total_.shortage(need, trial.footprint.cores, roomiest(total_, fitting), false);
        std::string aside;
        for (const int device : devices_)
            if (empty_.holds(need, device))
                aside += (aside.empty() ? "" : ", ") + machine_.accelerators[std::size_t(device)].id;
        return "needs " + bytes_text(need.device_bytes) + " of device memory; what it fits is set aside: " + aside;
    }

    const Machine& machine_;
    Room empty_;                 ///< without other programs and trials
    Room total_;                 ///< without trials
    Room free_;                  ///< now
    std::optional<Room> spare_;  ///< what the reservation leaves over; absent: none made yet
    std::vector<Held> held_;     ///< oldest first
    std::vector<int> devices_, usable_;
    static constexpr int host_[] = {host_only};
    Admission admission_;
};

}  // namespace

Admission admit(const Machine& machine, std::span<const Booking> running, std::span<const Waiting> waiting,
                std::optional<std::int64_t> parallel) {
    Planner planner(machine, running, parallel);
    for (const Waiting& trial : waiting) planner.consider(trial);
    return planner.take_admission();
}

}  // namespace hpo
