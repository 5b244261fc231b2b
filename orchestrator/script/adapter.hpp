// The adapter, which runs an unchanged script as a worker: `hpo` itself, executed again, speaks the protocol for the
// command. It takes one trial, runs the command with the trial's parameters, reads its metrics, and ends it (SIGTERM,
// then SIGKILL, to its process group) when the study decides so. The supervisor kills what the command leaves behind.
//
// The command's end decides the trial's outcome. Status 0 after at least one step is complete. Another status is
// failed, with the end of its output as the reason, or out of memory where the output says so. A signal that the
// adapter did not send ends the adapter too, so that the trial is tried again. A command that goes on after the last
// step of the budget is ended.
#pragma once

#include <string>
#include <vector>

#include "hpo/study.hpp"

namespace hpo {

/// The command of `hpo` that runs it: `hpo __script TASK`.
inline constexpr const char* script_command = "__script";

/// Returns the argument TASK: the part of the study that the adapter needs.
std::string script_task(const Study& study);

/// Runs one trial. Returns the exit status.
int run_script(int argc, char** argv);

}  // namespace hpo
