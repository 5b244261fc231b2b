// The interpreter that a supervisor keeps beside its workers: it has imported what the study names, and workers are
// forked from it. worker/python/hpo/preload.py is its other end, and says what the two tell each other.
//
// A worker that comes from it is the supervisor's own child, leads a process group of its own and is killed by the
// kernel when the supervisor dies, as one that start_child() has started.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "hpo/descriptor.hpp"
#include "orchestrator/execution/frames.hpp"

namespace hpo::supervisor {

class Preloader {
   public:
    /// Starts the interpreter for workers such as `worker`; ready() tells whether that succeeded.
    explicit Preloader(const Start& worker);

    [[nodiscard]] bool ready() const { return pid_ != 0; }
    /// Why it cannot be used; empty: it can, as far as is known.
    [[nodiscard]] const std::string& problem() const { return problem_; }

    /// Orders a worker. Its output is to be read from what is returned; empty: see problem().
    Descriptor order(const Start& worker);
    /// Hears what it has to say: the pid of the worker that was ordered, once it runs.
    std::optional<pid_t> listen();
    /// The process was reaped: it is the interpreter, or the process that waits to be a worker.
    void reaped(pid_t pid, int status);
    /// It belongs to the place, not to the worker that runs there.
    [[nodiscard]] bool keeps(pid_t pid) const { return pid == pid_ || pid == standby_; }
    /// Kills it. What waits to be a worker ends by itself, or by this.
    void end();

    [[nodiscard]] int socket() const { return socket_.get(); }
    Descriptor output;  ///< what it prints while it imports

   private:
    Descriptor socket_;
    pid_t pid_ = 0;
    pid_t standby_ = 0;
    std::string problem_;
};

}  // namespace hpo::supervisor
