// Looking at other processes through /proc, and killing what a study left behind. A bare pid may be anybody's a moment
// later: nothing here signals one that it does not hold, as an unreaped child or by a pidfd.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace hpo {

/// The name of the mark in a worker's environment. Its value is the study's mark, ':' and the place.
inline constexpr const char* tag_variable = "HPO_MARK";

/// What a supervisor calls itself, for ps and for those who look for what is none.
inline constexpr const char* supervisor_name = "hpo-supervisor";

/// Whether a sweep takes supervisors along. Supervisors that sweep at the same time must not kill each other half-way.
enum class Supervisors { too, spared };

/// Every process below /proc; a snapshot.
std::vector<pid_t> all_processes();

/// Those whose parent is `parent`, zombies included.
std::vector<pid_t> children_of(pid_t parent);

/// The process that a worker's memory is measured from. `said`: its own word, believed where that process is `peer`,
/// which holds the socket, or an ancestor of it below its supervisor (a child of `orchestrator`); else `peer`: in a pid
/// namespace of its own a worker does not know its number. `peer` 0: not known, and `said` stands.
pid_t worker_process(pid_t said, pid_t peer, pid_t orchestrator);

/// Seconds of processor time that the descendants of `root` have used, with those that they waited for; `root` itself
/// does not count. Shrinks where a process ends that nobody waits for. Reads the tree alone, not all of /proc, where
/// the kernel lists children (CONFIG_PROC_CHILDREN).
double processor_seconds_below(pid_t root);

/// Processes of this user, but the caller, whose mark is `mark` or begins with `mark` and ':'; a snapshot.
std::vector<pid_t> tagged(const std::string& tag);

/// One round: SIGKILL to every process of this user, but the caller, whose mark is `mark` or begins with `mark` and
/// ':'. Returns how many were found.
std::size_t kill_tagged(const std::string& tag, Supervisors supervisors = Supervisors::too);

/// Rounds until nothing with the mark is left. False: something would not die before the deadline. For a run that
/// begins: it clears what an orchestrator and a supervisor that were killed together left running.
bool sweep(const std::string& tag, std::chrono::milliseconds deadline = std::chrono::seconds(2),
           Supervisors supervisors = Supervisors::too);

/// Kills of the kernel for want of memory so far, on the whole machine; 0: it does not say.
long long out_of_memory_kills();

}  // namespace hpo
