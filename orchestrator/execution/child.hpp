// How a supervisor starts a worker: fork, exec and all that lies between, with the errno of whatever fails.
#pragma once

#include <sys/types.h>

#include <string>

#include "hpo/descriptor.hpp"
#include "orchestrator/execution/frames.hpp"
#include "orchestrator/execution/limits.hpp"

namespace hpo::supervisor {

struct Child {
    pid_t pid = 0;       ///< 0: it did not start
    Descriptor output;   ///< read end of its stdout and stderr, non-blocking
    int error = 0;       ///< errno
    std::string failed;  ///< what was tried: "run ./train.py", "enter /no/such"
};

/// The worker leads a process group of its own, is killed by the kernel when the caller dies, and has descriptors 0
/// (empty), 1 and 2 (the pipe) alone. Returns once exec has succeeded or failed.
/// `input` is its standard input and `output` its standard output, if they are given; then the pipe is its standard
/// error alone.
Child start_child(const Start& start, int input = -1, int output = -1);

/// Soft limits of workers; until it is called, those of this process.
void limit_children(const SoftLimits& limits);

/// The environment that a worker is started with: this process's, with what `added` (NAME=value) holds added or
/// replaced.
std::vector<std::string> merged_environment(const std::vector<std::string>& added);

}  // namespace hpo::supervisor
