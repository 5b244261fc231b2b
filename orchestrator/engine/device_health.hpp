// The health of a session's devices: lost, failing again and again, or cooling down. Pure: it decides nothing about
// trials and workers, reads nothing and has no clock.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "orchestrator/scheduling/machine.hpp"

namespace hpo {

class DeviceHealth {
   public:
    /// Seconds within which the loss of a device is noticed, as readings come every second. Also the cool-down after a
    /// failure on a device.
    static constexpr double noticed_after = 3;
    /// Failures in a row, of a device or of workers that start on it, after which the device is given up.
    static constexpr int failures_allowed = 3;

    /// Devices whose state has changed with a reading.
    struct Changes {
        std::vector<int> lost, back;
        bool any_usable = false;
    };
    /// Devices of a host that cannot be reached stay as they were: nothing is known about them. They count as usable
    /// unless their host is gone.
    Changes read(const Machine& machine);

    /// Takes in a failure of the device while it ran these trials; the device cools down. Returns the reason to give
    /// the device up after several failures in a row under different trials. A single trial may be the cause itself.
    std::optional<std::string> failed(int device, std::span<const std::int64_t> trials, const std::string& reason,
                                      Seconds now);
    /// Takes in that a worker exited before its hello. The device cools down, and all failures meanwhile count as one.
    /// Returns the reason to give the device up after too many.
    std::optional<std::string> start_failed(int device, const std::string& message, Seconds now);
    /// Takes in that a worker has started on the device.
    void started(int device) { faults_[device].starts = 0; }
    /// Takes in that a trial has ended by itself on the device.
    void worked(int device) { faults_[device] = {}; }

    /// Excludes a device from this session, although its driver does not report it as lost. `why` names the device.
    void give_up(int device, const std::string& why);
    [[nodiscard]] bool given_up(int device) const { return given_up_.contains(device); }
    /// Returns the reason of the device that was given up last; empty if none was.
    [[nodiscard]] const std::string& why_given_up() const { return why_given_up_; }
    /// Returns true if the device is lost or given up.
    [[nodiscard]] bool is_gone(int device) const { return lost_.contains(device) || given_up(device); }

    /// Returns true if no device was given up or cools down, so that readings need no change.
    [[nodiscard]] bool untroubled() const { return given_up_.empty() && cool_downs_.empty(); }
    /// Removes devices that were given up from a reading, so that no trial waits for them.
    void remove_given_up(Machine& machine) const;
    /// Marks devices that cool down as unusable in a reading.
    void set_cooling_aside(Machine& machine, Seconds now) const;

   private:
    struct Faults {
        int in_a_row = 0;               ///< failures under trials, since one of its trials ended well
        std::set<std::int64_t> trials;  ///< the trials of these failures
        int starts = 0;                 ///< workers that failed to start, since the last that started
    };
    [[nodiscard]] bool cools_down(int device, Seconds now) const;

    std::map<int, Faults> faults_;
    std::map<int, Seconds> cool_downs_;  ///< end of the cool-down, by device
    std::set<int> lost_;
    std::set<int> given_up_;
    std::string why_given_up_;
};

}  // namespace hpo
