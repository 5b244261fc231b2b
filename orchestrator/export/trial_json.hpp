// Writes a trial as JSON, for --json of ls, run and top and for the export to JSON Lines.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hpo/study.hpp"
#include "hpo/trial.hpp"

namespace hpo {

/// Version of the schema of all JSON that commands print (docs/json.md). It increases when a key is removed or changes
/// its meaning, not for a new key.
inline constexpr int json_schema = 1;

/// Returns the object "Trial" of docs/json.md. Values are those of the step that counts for the objective, or else of
/// the last one. Times have the form "2026-11-21T03:52:57.152Z" or are null. Numbers that are not finite are "nan",
/// "inf" and "-inf".
nlohmann::ordered_json trial_json(const TrialRecord& trial);

/// Returns the same with everything else that is known: "seed", and "curve" with every step as in the protocol.
nlohmann::ordered_json whole_trial_json(const Study& study, const TrialRecord& trial);

/// Returns the report that trial_json() takes its values from, or nullptr.
const Report* counting_report(const TrialRecord& trial);

/// Returns seconds since the epoch as "2026-11-21T03:52:57.152Z", in UTC; empty for 0.
std::string utc_text(double time);

/// Returns seconds since the epoch as "2026-11-21 03:52:57.152704", in local time, as Optuna writes them.
std::string local_text(double time);

}  // namespace hpo
