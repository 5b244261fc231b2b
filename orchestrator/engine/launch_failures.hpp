// Workers that could not be started, on the host or for want of something that may come back: whether and when it is
// tried again, and when the session gives up. Failures on a device are the device's (device_health.hpp).
#pragma once

#include <optional>
#include <string>

#include "hpo/clock.hpp"

namespace hpo {

class LaunchFailures {
   public:
    /// So many launches in a row that failed for reasons that do not pass end the session.
    static constexpr int allowed = 3;

    /// The reason to end the session after too many in a row.
    std::optional<std::string> failed(const std::string& message);

    /// What follows from a launch that failed for want of processes, descriptors or memory of the kernel.
    struct Shortage {
        bool begins = false;              ///< worth telling
        std::optional<std::string> over;  ///< it lasts too long: the reason to end the session
    };
    /// Waited out, with pauses that grow, by time and not by failures: many workers fail within a moment. While trials
    /// run (`working`) it may last; where none has for ten minutes, it is no passing one.
    Shortage ran_short(const std::string& message, bool working, Seconds now);

    /// A worker sent its hello.
    void succeeded();
    /// What failed to start was a device that is lost.
    void forgive() { in_a_row_ = 0; }

    /// Whether a worker may be launched now: in a shortage one at a time, after a pause.
    [[nodiscard]] bool may_launch(bool any_starting, Seconds now) const {
        return !shortage_ || (now >= shortage_->until && !any_starting);
    }

   private:
    struct Lasting {
        Seconds since{0};
        Seconds pause{0};
        Seconds until{0};  ///< nothing is launched before
    };
    int in_a_row_ = 0;
    std::optional<Lasting> shortage_;
};

}  // namespace hpo
