// Recognises failures of the system that pass by themselves.
#pragma once

#include <time.h>

#include <cerrno>
#include <chrono>
#include <optional>

namespace hpo {

/// Returns true for an errno that tells of a shortage that may end soon, of processes, descriptors, buffers or memory
/// of the kernel, of a program that is being written, and of a call that a signal has interrupted. The caller waits and
/// tries again.
constexpr bool is_shortage(int error) {
    for (const int one : {EAGAIN, EMFILE, ENFILE, ENOMEM, ENOBUFS, ETXTBSY, EINTR})
        if (error == one) return true;
    return false;
}

/// Waits out shortages between the tries of one call.
class ShortageWait {
   public:
    /// Sleeps for 10 ms, but not after EINTR, and returns true if the call may be tried again. Returns false, with
    /// errno = `error`, for another failure, and for a shortage that has lasted for a minute.
    bool try_again_after(int error) {
        constexpr std::chrono::seconds longest{60};
        constexpr timespec pause{0, 10'000'000};
        if (error == EINTR) return true;
        const auto now = std::chrono::steady_clock::now();
        if (!since_) since_ = now;
        const bool may_end = is_shortage(error) && now - *since_ <= longest;
        if (may_end) ::nanosleep(&pause, nullptr);
        errno = error;
        return may_end;
    }

    /// Tells of a try that succeeded.
    void over() { since_.reset(); }

   private:
    std::optional<std::chrono::steady_clock::time_point> since_;
};

}  // namespace hpo
