// Draws the result of `hpo advise`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/advice/advice.hpp"
#include "orchestrator/simulation/predict.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// An advice for users.
struct AdviceReport {
    std::string study;
    StudyFacts facts;
    Advice advice;
    std::optional<PredictedRange> now;                   ///< seconds of the whole search
    std::vector<std::optional<PredictedRange>> changed;  ///< by change: with it
    std::vector<std::string> lines;                      ///< to paste into the study: "key: value"
};

std::string draw_advice(const AdviceReport& report, const Screen& screen);

/// Returns "space.batch_size.low: 256, space.batch_size.high: 1024".
std::string keys_text(const std::vector<std::pair<std::string, std::string>>& keys);

}  // namespace hpo::view
