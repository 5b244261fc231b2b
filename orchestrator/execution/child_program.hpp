// Runs a program in the foreground, with this process's standard streams, and waits for it or for signals.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "orchestrator/execution/signal_queue.hpp"

namespace hpo {

/// Runs a program in the foreground. From construction to destruction it receives SIGINT, SIGTERM, SIGHUP and SIGCHLD
/// of this process in wait(). At most one object may exist at a time.
class Foreground {
   public:
    /// Throws Fatal if no descriptors are left.
    Foreground();
    Foreground(const Foreground&) = delete;
    Foreground& operator=(const Foreground&) = delete;

    /// Starts the program, which is searched for in PATH. Its signal mask, and the signals that it ignores, are those
    /// of this process before construction. Signals of the terminal reach it directly. Throws Fatal if the program
    /// cannot be started, with exit status 127 if it is not found and 126 otherwise, as shells do.
    void start(const std::vector<std::string>& command);

    /// Waits until a signal arrives, the program ends or the time is over. Returns the signal, or 0 if there was none
    /// other than SIGCHLD. Forwards SIGTERM and SIGHUP to the program.
    int wait(Seconds time);

    [[nodiscard]] pid_t pid() const { return pid_; }
    /// Returns the program's exit status as shells report it (128 + signal), or nothing if it is running or was not
    /// started.
    [[nodiscard]] std::optional<int> status() const { return status_; }

   private:
    SignalQueue signals_{SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    pid_t pid_ = 0;
    std::optional<int> status_;
};

}  // namespace hpo
