// The clock of events: the wall clock, read once, plus the time passed since. Setting the system's clock during a
// session changes neither the duration of a trial nor that of a killed session, which is computed from its events.
#pragma once

#include <ctime>

#include "os/boot_clock.hpp"

namespace hpo {

class EventClock {
   public:
    using Read = double (*)(clockid_t);

    /// `read` is a seam for tests: seconds of CLOCK_REALTIME, since the epoch, and of os::boot_clock().
    explicit EventClock(Read read = seconds) : read_(read), offset_(read(CLOCK_REALTIME) - read(os::boot_clock())) {}

    /// Seconds since the epoch.
    [[nodiscard]] double now() const { return offset_ + read_(os::boot_clock()); }

   private:
    static double seconds(clockid_t clock) {
        timespec time{};
        ::clock_gettime(clock, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }

    Read read_;
    double offset_;
};

}  // namespace hpo
