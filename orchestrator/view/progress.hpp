// The live block of `hpo run` on a terminal, redrawn in place.
#pragma once

#include <string>

#include "orchestrator/view/canvas.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::view {

/// At most screen.height - 1 lines (the cursor stands below them), each with its newline: how far the study is, the
/// best so far, each running trial. When not all running trials fit, the last line says how many are not shown.
std::string draw_progress(const Study& study, const StudyRecord& record, const Moment& moment, const Screen& screen);

}  // namespace hpo::view
