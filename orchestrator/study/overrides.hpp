// `--set key=value`: changes to the tree of a study file before it is checked.
#pragma once

#include <string>

#include "orchestrator/study/document.hpp"

namespace hpo::study {

/// Sets `a.b.c=value` in the map `root`; maps on the way are made as needed; the value is YAML. `null` removes the key.
/// The places of what it sets are the option itself.
void apply_override(Diagnostics& diagnostics, Node& root, const std::string& assignment);

}  // namespace hpo::study
