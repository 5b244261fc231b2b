// The processes that are left below a supervisor. Where the system has sub-reapers, orphans among them become children
// of the supervisor, and so its children are all that can be found and none escapes. Elsewhere orphans get another
// parent. They are found by the tag of the worker in their environment, or by the supervisor's session. A process that
// has left both escapes, and so may one that forks and ends faster than processes are listed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace hpo::supervisor {

/// Returns true if the system lets processes be sub-reapers, as a process that is started for it has tried.
bool has_sub_reapers();

class Descendants {
   public:
    /// Makes this process the sub-reaper of its descendants where it can. Call it as the leader of a session.
    Descendants();

    /// Returns true if this process is the parent of all orphans among them.
    [[nodiscard]] bool adopts() const { return adopts_; }

    /// Returns how many rounds of kill() in a row must find none.
    [[nodiscard]] int rounds() const { return adopts_ ? 1 : 2; }

    /// Sends SIGKILL to those for which `keeps` returns false, and to their process groups. Returns those that were
    /// found. Where orphans are adopted these are children, whose own children are adopted when they die. Elsewhere two
    /// rounds in a row must find none: during exec a process has no environment that could be read.
    std::vector<pid_t> kill(const std::function<bool(pid_t)>& keeps) const;

   private:
    bool adopts_;
    std::string tag_;  ///< of the worker; may be empty
    pid_t session_;    ///< 0 if this process leads none
};

}  // namespace hpo::supervisor
