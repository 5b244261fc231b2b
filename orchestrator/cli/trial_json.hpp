// Trials and studies as JSON for programs. Keys stand in the order of the documentation; what is absent is null;
// numbers that are not finite are the strings "nan", "inf" and "-inf".
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "orchestrator/cli/study_look.hpp"

namespace hpo {

/// {"trial": 1, "state": "complete", "attempt": 1, "params": {...}, "values": {...}, "steps": 12, "reason": ...};
/// values are the metrics of the step that counts (the best, or the last), of the last one where none counts.
nlohmann::ordered_json trial_json(const TrialRecord& trial);

/// {"study": ..., "trials": [...]}
nlohmann::ordered_json trials_json(const StudyLook& look);

/// {"study": ..., "running": true, "states": {"complete": 3, ...}, "trials": 64, "ended": 12, "metric": ..., "best":
/// {"trial": 7, "value": 0.9}, "folder": ...}
nlohmann::ordered_json study_json(const StudyLook& look);

}  // namespace hpo
