// Studies as JSON for programs, and with export/trial_json.hpp their trials. Keys stand in the order of the
// documentation; what is absent is null; numbers that are not finite are the strings "nan", "inf" and "-inf".
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "orchestrator/cli/study_snapshot.hpp"
#include "orchestrator/export/trial_json.hpp"

namespace hpo {

/// {"schema": 1, "study": ..., "trials": [...]}
nlohmann::ordered_json trials_json(const StudySnapshot& snapshot);

/// The object "Study" of docs/json.md, without "schema".
nlohmann::ordered_json study_json(const StudySnapshot& snapshot);

/// Adds, with several objectives, "objectives" and the Pareto "front": each trial's number and values.
void add_front(nlohmann::ordered_json& json, const StudyRecord& record, const Objective& objective);

}  // namespace hpo
