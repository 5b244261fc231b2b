// Kills the processes that this process has adopted: those of a worker whose supervisor was killed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace hpo {

/// Makes this process the sub-reaper of the processes below it. When the supervisor of a worker is killed, the worker's
/// descendants become children of this process, also those that have cleared their environment and are found by no tag.
/// Nothing is adopted where the system has no sub-reapers or refuses them.
class Adoptions {
   public:
    /// Children that this process has already, such as a `tee` of the shell that became it, are never killed.
    Adoptions();

    /// Sends SIGKILL to every adopted process. Returns how many there were. Their own children are adopted when they
    /// die, so call it until it returns 0. Children that run the program of this process (supervisors, helpers of
    /// devices) were started by itself and are left alone.
    std::size_t kill();

   private:
    bool adopts_;
    std::vector<pid_t> spared_;
    std::vector<pid_t> killed_;  ///< and not reaped yet
};

}  // namespace hpo
