// The ranking of configurations that were trained again (hpo best --repeat).
#pragma once

#include <string>
#include <vector>

#include "orchestrator/analysis/repeat_study.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// Returns a table of the configurations, with their means and deviations, then ties and repeats without a value.
std::string draw_repeats(const Study& study, const std::vector<Repeated>& ranked, const Screen& screen);

}  // namespace hpo::view
