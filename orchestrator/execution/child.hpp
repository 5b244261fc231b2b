// How a warden starts a worker: fork, exec and all that lies between, with the errno of whatever fails.
#pragma once

#include <sys/types.h>

#include <string>

#include "hpo/descriptor.hpp"
#include "orchestrator/execution/frames.hpp"

namespace hpo::warden {

struct Child {
    pid_t pid = 0;       ///< 0: it did not start
    Descriptor output;   ///< read end of its stdout and stderr, non-blocking
    int error = 0;       ///< errno
    std::string failed;  ///< what was tried: "run ./train.py", "enter /no/such"
};

/// The worker leads a process group of its own, is killed by the kernel when the caller dies, and has descriptors 0
/// (empty), 1 and 2 (the pipe) alone. Returns once exec has succeeded or failed.
Child start_child(const Start& start);

}  // namespace hpo::warden
