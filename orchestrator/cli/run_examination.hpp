// Looks at a study before `hpo run` starts it.
#pragma once

#include "orchestrator/cli/run_arguments.hpp"
#include "orchestrator/cli/run_place.hpp"

namespace hpo {

/// Refuses studies that cannot run, and prints warnings about others.
void examine(const RunArguments& arguments, const Study& study, const RunPlace& place, const Programs& programs);

}  // namespace hpo
