// An orchestrator in a process of its own, made to be killed.
#pragma once

#include <string>

namespace hpo::testing_execution {

inline constexpr const char* child_orchestrator_command = "__child_orchestrator";

/// Arguments: the word, a mark, the number of places, a start script and a trial's script. Launches fake workers and,
/// where a worker ends, the next one; runs trial after trial. Prints a line when all places have become ready once.
/// Never returns of itself.
int run_child_orchestrator(int argc, char** argv);

}  // namespace hpo::testing_execution
