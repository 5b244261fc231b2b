// `hpo agent --join FILE`: an agent that joins a study which listens. It starts the agent of its host (agent.hpp) as a
// child, and carries the child's standard input and output to the orchestrator, over one connection after another if
// the network breaks. The child ends its workers when it has heard nothing for cluster::agent_waits.
#pragma once

#include <filesystem>
#include <optional>

#include "hpo/clock.hpp"

namespace hpo {

/// Runs until the study ends, until SIGINT, SIGTERM or SIGHUP, or until the orchestrator cannot be reached any more. No
/// process is left then. Prints events to stderr. `hpo` is this program. While the file is missing, or no orchestrator
/// answers at its addresses, it tries again for `wait`, since the orchestrator may be about to start; without a time
/// for 30 s, except for a missing file of another name than orchestrators write. Returns the exit status: 0 if the
/// study has ended or was interrupted, or a signal came. Throws Fatal if it cannot join, if the study has failed, and
/// if the orchestrator was silent for too long.
int join_study(const std::filesystem::path& join_file, const std::filesystem::path& hpo, std::optional<Seconds> wait);

}  // namespace hpo
