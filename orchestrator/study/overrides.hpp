// Applies `--set key=value`, which changes the tree of a study file before it is checked.
#pragma once

#include <string>

#include "orchestrator/study/document.hpp"

namespace hpo::study {

/// Applies the assignment `a.b.c=value` to the map `root` and creates missing maps along the path. The value is YAML;
/// `null` removes the key. The new nodes are located in the option, not in the file.
void apply_override(Diagnostics& diagnostics, Node& root, const std::string& assignment);

}  // namespace hpo::study
