// The agent of a host: `hpo` itself, which the orchestrator starts there, on this machine or through ssh or srun. It
// runs workers as a session on one machine does, and reads the machine for placement. It exchanges frames over its
// standard input and output, so that it needs no port and no password of its own.
#pragma once

#include <filesystem>

namespace hpo {

/// The internal command by which `hpo` runs as the agent.
inline constexpr const char* agent_command = "__agent";

/// The agent's exit status after the orchestrator was silent for cluster::agent_waits.
inline constexpr int agent_heard_nothing = 4;

/// Runs until standard input closes, SIGTERM comes, or the orchestrator is silent for cluster::agent_waits; then ends
/// all workers at once. Returns the exit status: 0 for an end on request, 1 for a fault of the agent, or
/// agent_heard_nothing.
int run_agent();

}  // namespace hpo
