// Finds out whether a command is alive: it has written or computed anything since the last check. A command that hangs
// does neither.
#pragma once

#include <sys/resource.h>

#include <chrono>

namespace hpo::script {

/// Returns the resource usage of the ended children of this process.
rusage usage_of_ended_children();

class Liveness {
   public:
    using Time = std::chrono::steady_clock::time_point;

    /// Sets the pause between checks. Default: 5 seconds.
    void show_every(std::chrono::duration<double> pause) { every_ = pause; }
    [[nodiscard]] std::chrono::duration<double> every() const { return every_; }
    /// The command starts now.
    void begin(Time now) { checked_ = now; }
    /// The command has written something.
    void acted() { acted_ = true; }
    /// Returns true if a check is due and the command has written, or computed for a hundredth of the time, since the
    /// last check that it passed. Counts the processes below this one.
    bool shows(Time now);

   private:
    std::chrono::duration<double> every_{5};
    Time checked_;
    bool acted_ = false;
    double computed_ = 0;  ///< processor seconds at the last check that it passed
};

}  // namespace hpo::script
