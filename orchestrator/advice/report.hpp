// An advice with the time of the whole search under each of its changes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/advice/advice.hpp"
#include "orchestrator/simulation/predict.hpp"
#include "orchestrator/simulation/predict_study.hpp"
#include "orchestrator/study/edit.hpp"

namespace hpo {

/// An advice for users.
struct AdviceReport {
    std::string study;
    StudyFacts facts;
    Advice advice;
    std::optional<PredictedRange> now;                   ///< seconds of the whole search
    std::vector<std::optional<PredictedRange>> changed;  ///< by change: with it
    std::vector<std::string> lines;                      ///< to paste into the study: "key: value"
};

/// Simulates the search as it ran and with each change, and sets `now` and `changed`. Throws Fatal if the studies of a
/// warm start cannot be read.
void add_search_times(AdviceReport& report, const MeasuredStudy& measured);

/// Returns the keys to change: those of all changes that are known to gain, or of the first one if none is known to.
std::vector<KeyAndValue> chosen_keys(const Advice& advice);

/// Returns the object of `hpo advise --json` (docs/json.md).
nlohmann::ordered_json to_json(const AdviceReport& report);

}  // namespace hpo
