// Draws the result of `hpo advise`.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/advice/report.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

std::string draw_advice(const AdviceReport& report, const Screen& screen);

/// Returns "space.batch_size.low: 256, space.batch_size.high: 1024".
std::string keys_text(const std::vector<std::pair<std::string, std::string>>& keys);

}  // namespace hpo::view
