// The Python interpreter that a supervisor keeps running: it has imported the modules that the study names, and workers
// are forked from it. worker/python/hpo/preload.py is the other end and describes their protocol.
//
// A worker that is forked from it is the supervisor's own child, leads a process group of its own and is killed by the
// kernel when the supervisor dies, like a worker that start_child() has started.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "hpo/descriptor.hpp"
#include "orchestrator/execution/frames.hpp"

namespace hpo::supervisor {

class Preloader {
   public:
    /// Starts the interpreter for workers such as `worker`; see ready() for whether that succeeded.
    explicit Preloader(const Start& worker);

    [[nodiscard]] bool ready() const { return pid_ != 0; }
    /// Returns why it cannot be used; empty as long as no reason is known.
    [[nodiscard]] const std::string& problem() const { return problem_; }

    /// Orders a worker and returns the read end of its output; empty if that failed, see problem().
    Descriptor order(const Start& worker);
    /// Reads the messages that have arrived, without blocking. Returns the pid of the worker that was ordered once it
    /// runs.
    std::optional<pid_t> read();
    /// Takes in a reaped child, which may be the interpreter or the process that waits to become a worker. Call it for
    /// each.
    void reaped(pid_t pid, int status);
    /// Returns true if `pid` belongs to the preloader, not to the worker.
    [[nodiscard]] bool keeps(pid_t pid) const { return pid == pid_ || pid == standby_; }
    /// Kills the interpreter and the process that waits to be a worker.
    void end();

    [[nodiscard]] int socket() const { return socket_.get(); }
    Descriptor output;  ///< output of the interpreter while it imports

   private:
    Descriptor socket_;
    pid_t pid_ = 0;
    pid_t standby_ = 0;
    std::string problem_;
};

}  // namespace hpo::supervisor
