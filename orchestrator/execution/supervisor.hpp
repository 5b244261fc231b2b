// The supervisor: a small process for each worker index, which is `hpo` itself, executed again. It starts the worker
// and relays its output and its exit. When the worker ends, or the pipe to the orchestrator closes, it kills until no
// descendant is left (descendants.hpp). It uses POSIX and the calls of system.hpp, but no library and no thread: a
// child may go on with a command of `hpo` where a thread would have left locks (own_command.hpp).
#pragma once

#include "orchestrator/execution/own_command.hpp"

namespace hpo {

/// The command of `hpo` that runs it, followed by the workers' soft limits (limits.hpp).
inline constexpr const char* supervisor_command = "__supervisor";

/// Name of a supervisor's process, as ps shows it.
inline constexpr const char* supervisor_name = "hpo-supervisor";

/// Reads orders from standard input and writes events to standard output, both as frames (frames.hpp), until standard
/// input closes or SIGTERM comes. Returns the exit status. A worker that is the command `own` of this program is forked
/// alone, where the system allows that.
int run_supervisor(int argc, char** argv, supervisor::OwnCommand own = {});

}  // namespace hpo
