// Applies `--set key=value`, which changes the tree of a study file before it is checked.
#pragma once

#include <string>

#include "orchestrator/study/document.hpp"

namespace hpo::study {

/// Applies the assignment `a.b.c=value` to the map `root`, and makes missing maps on the way. The value is YAML; `null`
/// removes the key. Locations of the new nodes are in the option.
void apply_override(Diagnostics& diagnostics, Node& root, const std::string& assignment);

}  // namespace hpo::study
