// Draws the result of `hpo doctor`.
#pragma once

#include <string>

#include "orchestrator/doctor/diagnosis.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// Draws a line for each finding, below it what follows and the cure, and a last line with the result.
std::string draw_diagnosis(const Diagnosis& diagnosis, const Screen& screen);

}  // namespace hpo::view
