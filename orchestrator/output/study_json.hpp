// Converts studies to the JSON of docs/json.md; trial_json.hpp converts trials. Keys come in the documented
// order, absent values are null, and numbers that are not finite are the strings "nan", "inf" and "-inf".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/store/notes.hpp"

namespace hpo {

/// Returns {"schema": 2, "study": ..., "trials": [...]}.
nlohmann::ordered_json trials_json(const StudySnapshot& snapshot);

/// Returns the object "Study" of docs/json.md, without "schema".
nlohmann::ordered_json study_json(const StudySnapshot& snapshot);

/// Returns the Pareto front of several objectives as text: {"schema", "study", "objectives", "front"}, in which each
/// trial has its "params" as well.
std::string front_json(const StudySnapshot& snapshot);

/// Adds "tags" and "notes" to the object of a study or of a trial.
void add_remarks(nlohmann::ordered_json& json, const Remarks& remarks);

/// Returns the notes and tags of the trials that have any, by number.
nlohmann::ordered_json remarks_of_trials(const StudySnapshot& snapshot);

/// Adds, with several objectives, "objectives" and the Pareto "front": each trial's number and values.
void add_front(nlohmann::ordered_json& json, const StudyRecord& record, const Objective& objective);

}  // namespace hpo
