// Draws the live block of `hpo run` on a terminal, which is redrawn in place.
#pragma once

#include <string>

#include "orchestrator/view/canvas.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::view {

/// Returns at most screen.height - 1 lines (the cursor is below them), each with a newline: progress, the best trial so
/// far, and each running trial. If not all running trials fit, the last line says how many are not shown.
std::string draw_progress(const Study& study, const StudyRecord& record, const Moment& moment, const Screen& screen);

}  // namespace hpo::view
