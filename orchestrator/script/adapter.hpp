// Runs an unchanged script as a worker: `hpo` itself re-executed, which speaks the protocol for a command that does
// not. It says hello, takes one trial, runs the command with the trial's parameters, reads its metrics, and ends it (by
// TERM, then KILL, to its process group) when the study says so. What the command leaves behind, the supervisor ends.
//
// The command's end is the trial's: status 0 after a step is complete; another status is failed with the end of its
// output, or out of memory where these say so; a signal that the adapter did not send ends the adapter too, so that the
// trial is tried again. A command that goes on beyond the last step of the budget is ended there.
#pragma once

#include <string>
#include <vector>

#include "hpo/study.hpp"

namespace hpo {

/// The command line's word for it: `hpo __script TASK`.
inline constexpr const char* script_command = "__script";

/// The argument TASK: what of the study the adapter needs.
std::string script_task(const Study& study);

/// Runs one trial. Returns the exit status.
int run_script(int argc, char** argv);

}  // namespace hpo
