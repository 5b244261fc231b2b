// The adapter runs an unchanged script as a worker. It is `hpo` itself, forked from the supervisor or executed again,
// and speaks the protocol on behalf of the command. It takes one trial, runs the command with the trial's parameters
// and reads its metrics. It ends the command (SIGTERM, then SIGKILL, to its process group) when the study decides so.
// The supervisor kills the processes that the command leaves behind.
//
// The command's exit decides the trial's outcome. Status 0 after at least one step means complete. Any other status
// means failed, with the error's line as the reason, or out of memory if the error is one of memory (ending.hpp). If a
// signal ends the command, or a process below it, that the adapter did not send, the adapter ends itself in the same
// way, so that the trial is tried again. After the last step of the budget the command may evaluate the objective once
// more and end by itself; a command that trains on is ended.
#pragma once

namespace hpo {

/// The command of `hpo` that runs the adapter: `hpo __script TASK`, with the TASK of script::task_text().
inline constexpr const char* script_command = "__script";

/// Runs one trial and returns the exit status.
int run_script(int argc, char** argv);

}  // namespace hpo
