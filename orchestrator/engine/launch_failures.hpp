// Failed launches of workers: whether and when to try again, and when the session gives up. Covers workers on the host
// and temporary shortages; device_health.hpp covers failures on a device.
#pragma once

#include <optional>
#include <string>

#include "hpo/clock.hpp"

namespace hpo {

class LaunchFailures {
   public:
    /// Failed launches in a row, for lasting reasons, that end the session.
    static constexpr int allowed = 3;

    /// Takes in a failed launch. Returns the reason to end the session after too many in a row.
    std::optional<std::string> failed(const std::string& message);

    /// The consequence of a launch that failed because processes, descriptors or kernel memory are short.
    struct Shortage {
        bool begins = false;              ///< the shortage has just begun: tell the user
        std::optional<std::string> over;  ///< the reason to end the session, if the shortage lasts too long
    };
    /// Takes in a shortage, which is waited out with growing pauses. Its duration counts and not the number of
    /// failures, as many workers fail within a moment. The shortage may last while trials run (`working`); after ten
    /// minutes without a running trial it ends the session.
    Shortage ran_short(const std::string& message, bool working, Seconds now);

    /// Takes in that a worker has sent its hello.
    void succeeded();
    /// Forgets the failures, since the device is lost that they were about.
    void forgive() { in_a_row_ = 0; }

    /// Returns whether a worker may be launched now: in a shortage one at a time, after a pause.
    [[nodiscard]] bool may_launch(bool any_starting, Seconds now) const {
        return !shortage_ || (now >= shortage_->until && !any_starting);
    }

   private:
    struct Lasting {
        Seconds since{0};
        Seconds pause{0};
        Seconds until{0};  ///< no launch before this time
    };
    int in_a_row_ = 0;
    std::optional<Lasting> shortage_;
};

}  // namespace hpo
