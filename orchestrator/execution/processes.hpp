// Finds and kills the processes that a study left behind. A pid may belong to another process a moment later, so
// signals are sent only to processes that are held: by a handle of the system, or else by their start time.
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

/// The part of supervisors in a sweep: killed, too, or spared. Supervisors that sweep at the same time must not kill
/// each other half-way.
enum class Supervisors { too, spared };

/// Returns this user's processes, except the caller, whose tag is `tag` or begins with `tag` and ':'.
std::vector<pid_t> tagged(const std::string& tag);

/// Returns true if the process has this tag, or one that begins with it and ':', and is not the caller.
bool has_tag(pid_t pid, const std::string& tag);

/// Returns true if the process belongs to the session, has not ended, and is not the caller.
bool in_session(pid_t pid, pid_t session);

/// Sends SIGKILL once to each process for which `wanted` returns true while it is held, and to its process group,
/// unless that is the caller's. Returns those that were found.
std::vector<pid_t> kill_each(const std::function<bool(pid_t)>& wanted);

/// Sends SIGKILL once to every process that tagged() would return. Returns how many there were.
std::size_t kill_tagged(const std::string& tag, Supervisors supervisors = Supervisors::too);

/// Calls `kill`, which returns how many processes it has found, until it finds none twice in a row. Returns false if it
/// still finds one after `deadline`.
bool until_none_is_left(const std::function<std::size_t()>& kill, std::chrono::milliseconds deadline);

/// Calls kill_tagged() until no process is left. Returns false if one is still there after `deadline`. A session calls
/// it at its start, because an orchestrator and a supervisor that were killed together leave workers running.
bool sweep(const std::string& tag, std::chrono::milliseconds deadline = std::chrono::seconds(2),
           Supervisors supervisors = Supervisors::too);

}  // namespace hpo
