// Converts a trial to JSON, for --json of ls, run and top and for the export to JSON Lines.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hpo/study.hpp"
#include "hpo/trial.hpp"

namespace hpo {

/// The version of the schema of all JSON that commands print (docs/json.md). It increases when a key is removed or
/// changes its meaning, but not for a new key.
inline constexpr int json_schema = 2;

/// Returns the object "Trial" of docs/json.md. Its values are those of counting_report(). Times have the form
/// "2026-11-21T03:52:57.152Z" or are null. Numbers that are not finite are "nan", "inf" and "-inf".
nlohmann::ordered_json trial_json(const TrialRecord& trial);

/// Adds "repeat_of" to a trial that trains another one's configuration, and "mean", "deviation" and "seeds" to one
/// whose configuration was trained with several seeds.
void add_seeds(nlohmann::ordered_json& json, const TrialRecord& trial);

/// Returns the seed that the trial's worker gives to its code: to scripts the lowest 31 bits, as {seed}.
std::uint64_t given_seed(const Study& study, const TrialRecord& trial);

/// Returns trial_json() with "seed" and with "curve", which has every step in the protocol's form.
nlohmann::ordered_json whole_trial_json(const Study& study, const TrialRecord& trial);

/// Returns the report of the step that determines the trial's value, or the last report if no step does. Returns
/// nullptr if there are no reports.
const Report* counting_report(const TrialRecord& trial);

/// Returns seconds since the epoch as "2026-11-21T03:52:57.152Z", in UTC. Returns an empty text for 0.
std::string utc_text(double time);

/// Returns the seconds by which local time is ahead of UTC at this moment, in seconds since the epoch.
long local_offset(double time);

/// Returns seconds since the epoch as "2026-11-21 03:52:57.152704", in a time that is `offset` seconds ahead of UTC.
std::string offset_text(double time, long offset);

}  // namespace hpo
