// The supervisor: one small process for each worker place, `hpo` itself re-executed. It starts the worker, relays its
// output and its end, and leaves nothing behind: it is the sub-reaper of all below it, and when the worker ends, or the
// pipe to the orchestrator closes, it kills until no descendant is left. Plain POSIX and Linux's prctl, signalfd and
// sub-reapers; no library, no thread.
#pragma once

namespace hpo {

/// The command line's word for it: `hpo __warden`, and behind it the workers' soft limits (limits.hpp).
inline constexpr const char* supervisor_command = "__supervisor";

/// Runs until the orchestrator's pipe (standard input) closes or SIGTERM comes; notices go to standard output. Both are
/// frames (frames.hpp). Returns the exit status.
int run_supervisor(int argc, char** argv);

}  // namespace hpo
