// Soft limits on this process: raised to the hard ones for `hpo` itself, which holds descriptors and starts processes
// for all workers at once. Workers get back what the user had set: select() breaks on descriptors of 1024 and more, and
// a limit on processes may guard against a script's own mistakes.
#pragma once

#include <sys/resource.h>

#include <string>
#include <vector>

namespace hpo {

struct SoftLimits {
    rlim_t descriptors = RLIM_INFINITY;
    rlim_t processes = RLIM_INFINITY;
};

/// Raises both; returns what they were before the first call.
SoftLimits raise_soft_limits();

/// As arguments of a supervisor's command line, and back; what is missing or no number is no limit.
std::vector<std::string> to_arguments(const SoftLimits& limits);
SoftLimits soft_limits_from(int argc, char** argv, int first);

/// Of the calling process, at most; above the hard limit they are left alone. Safe after fork().
void apply(const SoftLimits& limits);

/// Whether a launch failed for want of something that others may give back in a moment: processes, descriptors, memory
/// of the kernel. `error` is the errno, `words` are what a program that died of it wrote; each may say nothing.
bool is_shortage(int error, const std::string& output);

}  // namespace hpo
