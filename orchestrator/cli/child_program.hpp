// Runs a program in the foreground, with this process's standard streams, and waits for it or for signals.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/descriptor.hpp"

namespace hpo {

/// Takes SIGINT, SIGTERM, SIGHUP and SIGCHLD of this process from construction to destruction. One at a time.
class Foreground {
   public:
    Foreground();
    ~Foreground();
    Foreground(const Foreground&) = delete;
    Foreground& operator=(const Foreground&) = delete;

    /// Starts the program, found by PATH. It gets signals as if this process were not there: those of the terminal come
    /// to it directly. Ends the command if it cannot be started, with status 127 or 126 as shells do.
    void start(const std::vector<std::string>& command);

    /// Waits until a signal came, the program has ended, or the time is over. Returns the signal other than SIGCHLD, or
    /// 0. SIGTERM and SIGHUP are passed on to the program.
    int wait(Seconds time);

    [[nodiscard]] pid_t pid() const { return pid_; }
    /// Exit status of the program as shells tell it (128 + signal); nothing while it runs or if there is none.
    [[nodiscard]] std::optional<int> status() const { return status_; }

   private:
    Descriptor signals_;
    sigset_t before_{};
    pid_t pid_ = 0;
    std::optional<int> status_;
};

}  // namespace hpo
