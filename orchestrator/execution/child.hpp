// Starts a worker for a supervisor: fork, exec and the steps between them. The errno of the step that fails is
// returned.
#pragma once

#include <sys/types.h>

#include <string>

#include "hpo/descriptor.hpp"
#include "orchestrator/execution/frames.hpp"
#include "orchestrator/execution/limits.hpp"

namespace hpo::supervisor {

struct Child {
    pid_t pid = 0;       ///< 0 if it could not be started
    Descriptor output;   ///< read end of its stdout and stderr, non-blocking
    int error = 0;       ///< errno
    std::string failed;  ///< the action that failed: "start ./train.py", "enter /no/such"
    bool own = false;    ///< true if hpo itself failed, before it entered the folder or executed the command
};

/// Starts the worker in a process group of its own. The kernel kills it when the caller dies. It has the descriptors 0
/// (empty), 1 and 2 (the pipe) and no others. Returns once the command runs (by exec, or in the child itself:
/// own_command.hpp) or has failed.
/// `input`, `output` and `error`, where they are not -1, become its standard input, output and error; the pipe carries
/// the rest of its output. `extra` becomes its descriptor 3.
Child start_child(const Start& start, int input = -1, int output = -1, int error = -1, int extra = -1);

/// Sets the soft limits of the workers that are started from now on. Before the first call they are those of this
/// process.
void limit_children(const SoftLimits& limits);

/// Returns the environment that a worker is started with: that of this process, where the variables in `added`
/// (NAME=value) are added or replaced.
std::vector<std::string> merged_environment(const std::vector<std::string>& added);

}  // namespace hpo::supervisor
