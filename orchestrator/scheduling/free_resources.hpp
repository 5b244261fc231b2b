// The free resources of a machine: those of the host, which every trial uses, and those of its devices. They are
// indexed so that the best device for a trial is found without a look at all of them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "orchestrator/scheduling/machine.hpp"

namespace hpo {

/// Indices of accelerators, or the host alone. It is empty if there is no place.
using Devices = std::vector<int>;
using Where = std::span<const int>;

inline Where only(const int& device) { return {&device, 1}; }

/// The resources that one trial takes. Bytes are doubles, since whole numbers up to 2^53 are exact and no sum
/// overflows. Cores are rounded down to a multiple of 2^-20, so that their sums stay exact after any number of trials.
struct Demand {
    double cores = 0;
    double host_bytes = 0;
    double device_bytes = 0;
    bool alone = false;

    Demand(const Footprint& footprint, bool alone_);
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
    [[nodiscard]] bool is_open() const { return slots >= 1 && alone == 0; }
    [[nodiscard]] bool holds(double needed) const { return needed <= bytes && is_open(); }
};

class FreeResources {
   public:
    enum class Of { all, usable };  ///< the devices that best() considers
    /// The machine must outlive this object.
    FreeResources(const Machine& machine, std::optional<std::int64_t> parallel, Of devices);

    void take_others();
    /// Limits the resources to what live readings say is free: everywhere, or only on devices where `running` has no
    /// trial, since a trial of ours may end.
    void limit_to_free(const FreeResources* running = nullptr);

    void take(const Demand& demand, Where devices, int sign = 1);
    void give_back(const Demand& demand, Where devices) { take(demand, devices, -1); }

    [[nodiscard]] bool holds(const Demand& demand, Where devices) const;
    /// Returns `count` devices, or the host if `count` is 0, that have room for the demand, here and in `other`.
    /// Devices with the fewest trials come first, then those with the most room. The result is empty if there are
    /// fewer.
    [[nodiscard]] Devices best(const Demand& demand, std::size_t count, const FreeResources* other = nullptr) const;
    /// Returns the best one of `devices`.
    [[nodiscard]] std::optional<int> best_of(const Demand& demand, Where devices,
                                             const FreeResources* other = nullptr) const;

    /// The host as a device of its own where a trial asks for none.
    [[nodiscard]] const Pool& pool_of(int device) const { return known(device) ? pool(device) : host_; }
    /// Which of the devices has the most bytes.
    [[nodiscard]] int largest(Where devices) const;

    /// In what a trial is too large, if it is by cores or bytes.
    [[nodiscard]] std::string shortage(const Demand& demand, double cores, int device, bool empty) const;

   private:
    /// The best device comes first.
    struct Key {
        int trials = 0;
        double bytes = 0;
        int device = 0;
        friend bool operator<(const Key& a, const Key& b) {
            if (a.trials != b.trials) return a.trials < b.trials;
            return a.bytes != b.bytes ? a.bytes > b.bytes : a.device < b.device;
        }
    };
    [[nodiscard]] bool known(int device) const { return device >= 0 && std::size_t(device) < devices_.size(); }
    [[nodiscard]] const Pool& pool(int device) const { return devices_[std::size_t(device)]; }
    [[nodiscard]] Key key(int device) const { return {pool(device).trials, pool(device).bytes, device}; }
    [[nodiscard]] bool shares_host(int device) const;
    [[nodiscard]] double host_bytes(const Demand& demand, Where devices) const;
    [[nodiscard]] bool host_holds(const Demand& demand, double bytes) const;
    void index();

    const Machine* machine_;
    Of considered_;
    double cores_;
    Pool host_;
    std::vector<Pool> devices_;
    std::set<Key> open_;  ///< devices that are considered and take a further trial
    bool any_unified_ = false;
};

}  // namespace hpo
