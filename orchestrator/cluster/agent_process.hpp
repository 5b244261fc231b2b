// Starts the process of an agent, or of the program through which it is reached.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hpo::cluster {

/// Starts the command with these standard descriptors, in a session of its own, so that signals of the terminal
/// (Ctrl-C) do not reach it. Returns an errno, or 0 and the process in `pid`.
int start_process(const std::vector<std::string>& command, int in, int out, int errors, pid_t& pid);

}  // namespace hpo::cluster
