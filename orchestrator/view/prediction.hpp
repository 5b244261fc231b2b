// Draws the result of `hpo simulate`.
#pragma once

#include <string>

#include "orchestrator/simulation/predict.hpp"

namespace hpo::view {

std::string draw_prediction(const PredictionReport& report);

/// Returns a range of seconds, rounded to its precision: "3m 05s to 3m 20s", "about 4h 10m".
std::string predicted_time_text(const PredictedRange& seconds);

}  // namespace hpo::view
