// `hpo agent --join FILE`: an agent that joins a study which listens. It starts the agent of its host (agent.hpp) as a
// child, and carries the child's standard input and output to the orchestrator, over one connection after another where
// the network breaks. The child ends its workers when it has heard nothing for cluster::agent_waits.
#pragma once

#include <filesystem>

namespace hpo {

/// Runs until the study ends, until SIGINT, SIGTERM or SIGHUP, or until the orchestrator cannot be reached any more. No
/// process is left then. Prints what happens to stderr. `hpo` is this program. Returns the exit status: 0 if the study
/// has ended or a signal came. Throws Fatal if it cannot join.
int join_study(const std::filesystem::path& join_file, const std::filesystem::path& hpo);

}  // namespace hpo
