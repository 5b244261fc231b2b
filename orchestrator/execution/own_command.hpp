// A command of this program that a child runs by a call, without executing the program once more: loading its libraries
// takes longer than a short trial.
#pragma once

namespace hpo::supervisor {

/// The command `PROGRAM NAME ...` of this program, and the function that main() calls for it. The name is no longer
/// than that of the command by which this process was started.
struct OwnCommand {
    const char* name = nullptr;
    int (*run)(int argc, char** argv) = nullptr;
};

/// Lets run_if_own() know the command. `argv` are the arguments of this process's main(): their memory is where ps and
/// /proc read a command line, and a child that runs the command writes its name there. Must be called while this
/// process has one thread, and it must not start others.
void run_in_children(OwnCommand command, int argc, char** argv);

/// Runs `command` in this process, a child that was forked for it, and ends the process with the exit status, if it is
/// the own command of the same program. Descriptors from `first` on are closed before. Returns if it must be executed
/// instead.
void run_if_own(char** command, int first);

}  // namespace hpo::supervisor
