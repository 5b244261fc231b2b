// The free resources of a machine: those of its hosts, of which a trial uses one, and those of its devices. They are in
// the order of choice; if all lack cores, or all lack bytes, none is looked at, and if none fits otherwise, all. Pure.
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

/// Indices of accelerators of one host, or a host alone; empty if there is no place.
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

/// A pool that trials share: the memory of a host or of one device.
struct Pool {
    double bytes = 0;                                        ///< free
    double taken = 0;                                        ///< by trials
    double slots = std::numeric_limits<double>::infinity();  ///< further trials
    int trials = 0;
    int alone = 0;  ///< trials that keep others away

    void take(double held, bool is_alone, int sign) {
        bytes -= sign * held;
        taken += sign * held;
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
    /// The machine must outlive this object. `parallel`: trials at once, on all hosts together.
    FreeResources(const Machine& machine, std::optional<std::int64_t> parallel, Of devices);

    /// Returns true if a host still has the cores, and the devices with the kinds of memory, with which this was made.
    [[nodiscard]] bool fits_layout_of(int host) const;
    /// Sets the free bytes of a device or a host, and checks again whether the device is usable. Returns true if either
    /// has changed.
    bool set_bytes(int place, double bytes);

    /// Takes the resources that a trial holds, or with `sign` -1 gives them back.
    void take(const Demand& demand, Where devices, int sign = 1);

    [[nodiscard]] bool holds(const Demand& demand, Where devices) const;
    /// Returns `count` devices of one host, or a host if `count` is 0, that have room for the demand, here and in
    /// `other`. Devices with the fewest trials come first, then those with the most room. The result is empty if there
    /// are fewer.
    [[nodiscard]] Devices best(const Demand& demand, std::size_t count, const FreeResources* other = nullptr) const;
    /// Returns the best one of `devices`.
    [[nodiscard]] std::optional<int> best_of(const Demand& demand, Where devices,
                                             const FreeResources* other = nullptr) const;

    /// Returns the memory of the device, or of its host where a trial asks for no device.
    [[nodiscard]] const Pool& pool_of(int device) const { return known(device) ? pool(device) : host(device).memory; }
    /// All devices of a host.
    [[nodiscard]] Where devices_of(int host) const { return hosts_[std::size_t(host)].devices; }
    /// Returns the device with the most bytes.
    [[nodiscard]] int largest(Where devices) const;

    /// Returns the resource of which a trial needs too much, cores or bytes, with the numbers; empty: neither.
    [[nodiscard]] std::string shortage(const Demand& demand, double cores, int device, bool empty) const;

   private:
    /// The best place comes first.
    struct Key {
        int trials = 0;
        double bytes = 0;
        int place = 0;  ///< a device, or the index of a host
        friend bool operator<(const Key& a, const Key& b) {
            if (a.trials != b.trials) return a.trials < b.trials;
            return a.bytes != b.bytes ? a.bytes > b.bytes : a.place < b.place;
        }
    };
    using Order = std::set<Key>;
    struct DevicePool : Pool {
        bool unified = false;
    };
    struct HostPool {
        double cores = 0;  ///< free
        double all_cores = 0;
        Pool memory;
        std::vector<int> devices;
        Order open;  ///< devices that are considered and take a further trial
        bool any_unified = false;
    };

    [[nodiscard]] bool known(int device) const { return device >= 0 && std::size_t(device) < devices_.size(); }
    [[nodiscard]] const DevicePool& pool(int device) const { return devices_[std::size_t(device)]; }
    [[nodiscard]] const HostPool& host(int place) const { return hosts_[std::size_t(host_of(*machine_, place))]; }
    [[nodiscard]] bool is_considered(int device) const;
    [[nodiscard]] Key key(int device) const { return {pool(device).trials, pool(device).bytes, device}; }
    [[nodiscard]] Key host_key(int host) const;
    [[nodiscard]] bool shares_host(int device) const;
    [[nodiscard]] double host_bytes(const Demand& demand, Where devices) const;
    [[nodiscard]] bool host_holds(const Demand& demand, int place, double bytes) const;
    [[nodiscard]] bool exceeds_all_hosts(const Demand& demand) const;
    [[nodiscard]] Devices best_host(const Demand& demand, const FreeResources* other) const;
    [[nodiscard]] Devices best_on(const HostPool& host, const Demand& demand, std::size_t count,
                                  const FreeResources* other) const;
    void index_host(int host, bool in);
    void index_device(int device, bool in);

    const Machine* machine_;
    Of considered_;
    double slots_;  ///< further trials on all hosts together
    std::vector<HostPool> hosts_;
    std::vector<DevicePool> devices_;
    Order open_hosts_;                               ///< hosts that take a further trial
    Order hosts_by_device_;                          ///< of these, those with an open device, by the best one
    std::multiset<double> open_cores_, open_bytes_;  ///< free cores and bytes of hosts that take a further trial
};

}  // namespace hpo
