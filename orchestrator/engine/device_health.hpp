// What a session has learned of its devices: which are lost, which fail again and again, which are left alone for a
// moment. It decides nothing about trials and workers, reads nothing and has no clock.
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
    /// The loss of a device is noticed within so many seconds: readings come every second. As long nothing is started
    /// on a device where something has just failed.
    static constexpr double noticed_after = 3;
    /// Failures in a row, of a device or of workers that are to start on it, after which it is given up.
    static constexpr int failures_allowed = 3;

    /// Devices whose state changed with a reading.
    struct Changes {
        std::vector<int> lost, back;
        bool any_usable = false;
    };
    Changes read(const Machine& machine);

    /// The device failed under these trials. Several failures in a row under different trials are the device's own:
    /// then the reason to give it up. One trial alone may be what it fails at: the device cools down.
    std::optional<std::string> failed(int device, std::span<const std::int64_t> trials, const std::string& reason,
                                      Seconds now);
    /// A worker ended before its hello. The device cools down, and all that fails meanwhile is one failure. The
    /// reason to give the device up after too many.
    std::optional<std::string> start_failed(int device, const std::string& message, Seconds now);
    /// A worker has started on it.
    void started(int device) { faults_[device].starts = 0; }
    /// A trial has ended there by itself.
    void worked(int device) { faults_[device] = {}; }

    /// Not used any more by this session, though its driver does not report it as lost. `why` names it.
    void give_up(int device, const std::string& why);
    [[nodiscard]] bool given_up(int device) const { return given_up_.contains(device); }
    /// Of the device that was given up last; empty: none was.
    [[nodiscard]] const std::string& why_given_up() const { return why_given_up_; }
    /// Lost or given up.
    [[nodiscard]] bool is_gone(int device) const { return lost_.contains(device) || given_up(device); }

    /// No device was given up or had to cool down: readings need no change.
    [[nodiscard]] bool untroubled() const { return given_up_.empty() && cool_downs_.empty(); }
    /// Takes devices that were given up out of a reading: nothing waits for them.
    void remove_given_up(Machine& machine) const;
    /// Sets devices that cool down aside for now.
    void set_cooling_aside(Machine& machine, Seconds now) const;

   private:
    struct Faults {
        int in_a_row = 0;               ///< failures under trials, since one of its trials ended well
        std::set<std::int64_t> trials;  ///< under which
        int starts = 0;                 ///< workers that did not start, since one did
    };
    [[nodiscard]] bool cools_down(int device, Seconds now) const;

    std::map<int, Faults> faults_;
    std::map<int, Seconds> cool_downs_;  ///< until then
    std::set<int> lost_;
    std::set<int> given_up_;
    std::string why_given_up_;
};

}  // namespace hpo
