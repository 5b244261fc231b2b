// A trial as JSON: what ls, run and top print with --json, and what an export to JSON Lines begins with.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hpo/study.hpp"
#include "hpo/trial.hpp"

namespace hpo {

/// The version of the schema of all JSON that commands print (docs/json.md): a key that goes or changes its meaning
/// makes it larger, a new key does not.
inline constexpr int json_schema = 1;

/// The object "Trial" of docs/json.md: values are those of the step that counts for the objective, else of the last
/// one; times as "2026-11-21T03:52:57.152Z" or null. Numbers that are not finite are "nan", "inf" and "-inf".
nlohmann::ordered_json trial_json(const TrialRecord& trial);

/// And all else that is known of it: "seed", and "curve" with every step as the protocol writes it.
nlohmann::ordered_json whole_trial_json(const Study& study, const TrialRecord& trial);

/// The report that trial_json() takes its values from; nullptr: there is none.
const Report* counting_report(const TrialRecord& trial);

/// Seconds since the epoch as "2026-11-21T03:52:57.152Z", in UTC; empty for 0.
std::string utc_text(double time);

/// Seconds since the epoch as "2026-11-21 03:52:57.152704", in local time, as Optuna writes them.
std::string local_text(double time);

}  // namespace hpo
