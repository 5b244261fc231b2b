// Soft limits of this process. `hpo` raises its own to the hard limits, because it holds descriptors and starts
// processes for all workers. Workers get the limits that the user had set: select() breaks on descriptors from 1024 on,
// and a limit on processes may guard against a script's own mistakes.
#pragma once

#include <sys/resource.h>

#include <string>
#include <vector>

namespace hpo {

struct SoftLimits {
    rlim_t descriptors = RLIM_INFINITY;
    rlim_t processes = RLIM_INFINITY;
};

/// Raises both limits and returns their values before the first call.
SoftLimits raise_soft_limits();

/// Converts limits to arguments of a supervisor's command line and back, from `argv[first]` on. An argument that is
/// missing or not a number means no limit.
std::vector<std::string> to_arguments(const SoftLimits& limits);
SoftLimits soft_limits_from(int argc, char** argv, int first);

/// Lowers the soft limits of the calling process to `limits`; never raises one. May be called after fork().
void apply(const SoftLimits& limits);

/// Returns true if a launch failed because of a shortage that may end soon: of processes, descriptors or memory of the
/// kernel, or of space on the disk. `error` is an errno or 0; `output` was written by the program before it ended, or
/// is empty.
bool is_launch_shortage(int error, const std::string& output = {});

}  // namespace hpo
