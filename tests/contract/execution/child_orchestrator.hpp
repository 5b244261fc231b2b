// An orchestrator in a separate process, which tests kill.
#pragma once

#include <string>

namespace hpo::testing_execution {

inline constexpr const char* child_orchestrator_command = "__child_orchestrator";

/// Launches fake workers, replaces those that end, and runs trial after trial. The arguments are the keyword, a tag,
/// the number of workers, a start script and a trial's script. Prints a line when all workers have been ready once.
/// Never returns.
int run_child_orchestrator(int argc, char** argv);

}  // namespace hpo::testing_execution
