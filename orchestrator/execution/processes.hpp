// Functions that read /proc, and kill the processes that a study left behind. A pid may belong to another process a
// moment later, so they send signals only to processes that they hold, by a pidfd.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace hpo {

/// Name of the environment variable that holds a worker's tag: the study's tag, ':' and the worker index.
inline constexpr const char* tag_variable = "HPO_TAG";

/// The variable's name up to version 0.1.0, by which processes of these versions are found.
inline constexpr const char* old_tag_variable = "HPO_MARK";

/// Name of a supervisor's process, as ps shows it; sweeps recognise supervisors by it.
inline constexpr const char* supervisor_name = "hpo-supervisor";

/// The part of supervisors in a sweep: killed, too, or spared. Supervisors that sweep at the same time must not kill
/// each other half-way.
enum class Supervisors { too, spared };

/// Returns all processes in /proc.
std::vector<pid_t> all_processes();

/// Returns the processes whose parent is `parent`, including zombies.
std::vector<pid_t> children_of(pid_t parent);

/// Returns the process at which measuring of a worker's memory starts. `reported` is the pid that the worker has sent.
/// It is used if it is `peer`, which holds the socket, or an ancestor of `peer` below the supervisor (a child of
/// `orchestrator`). Otherwise `peer` is used: in a pid namespace a worker does not know its pid. With `peer` 0 (not
/// known) `reported` is used.
pid_t worker_process(pid_t reported, pid_t peer, pid_t orchestrator);

/// Returns the seconds of processor time that the descendants of `root` have used, including children that they have
/// waited for; `root` itself does not count. The figure shrinks when a process ends without being waited for. Where the
/// kernel lists children (CONFIG_PROC_CHILDREN), only the tree is read, not all of /proc.
double processor_seconds_below(pid_t root);

/// Returns this user's processes, except the caller, whose tag is `tag` or begins with `tag` and ':'.
std::vector<pid_t> tagged(const std::string& tag);

/// Sends SIGKILL once to every process that tagged() would return. Returns how many there were.
std::size_t kill_tagged(const std::string& tag, Supervisors supervisors = Supervisors::too);

/// Calls `kill`, which returns how many processes it has found, until it finds none twice in a row. Returns false if it
/// still finds one after `deadline`.
bool until_none_is_left(const std::function<std::size_t()>& kill, std::chrono::milliseconds deadline);

/// Calls kill_tagged() until no process is left. Returns false if one is still there after `deadline`. A session calls
/// it at its start, because an orchestrator and a supervisor that were killed together leave workers running.
bool sweep(const std::string& tag, std::chrono::milliseconds deadline = std::chrono::seconds(2),
           Supervisors supervisors = Supervisors::too);

/// Returns how many processes of the whole machine the kernel has killed for want of memory so far; 0 if it does not
/// tell.
long long out_of_memory_kills();

}  // namespace hpo
