// The supervisor: a small process for each worker index, which is `hpo` itself, executed again. It starts the worker
// and relays its output and its exit. It is the sub-reaper of all its descendants: when the worker ends, or the pipe to
// the orchestrator closes, it kills until no descendant is left. It uses POSIX and Linux's prctl, signalfd and
// sub-reapers, but no library and no thread.
#pragma once

namespace hpo {

/// The command of `hpo` that runs it, followed by the workers' soft limits (limits.hpp).
inline constexpr const char* supervisor_command = "__supervisor";

/// Reads orders from standard input and writes events to standard output, both as frames (frames.hpp), until standard
/// input closes or SIGTERM comes. Returns the exit status.
int run_supervisor(int argc, char** argv);

}  // namespace hpo
