// Writes trials as text, one on each line: CSV and JSON Lines.
#pragma once

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/export/output.hpp"
#include "orchestrator/export/registry.hpp"

namespace hpo::exporting {

/// Writes CSV by RFC 4180 (lines end with CR LF, cells are quoted where necessary) with a row for each trial: trial,
/// state, value, best_step, steps, attempt, a column "params.NAME" for each parameter of the space, "values.NAME" for
/// each metric of the steps that count, rule, reason, seed, started, ended, device, peak_host_bytes, peak_device_bytes.
/// An absent value is an empty cell; numbers have all their digits.
Result<void> write_csv(const Study& study, const StudyRecord& record, const WholeTrial& whole, const Sink& sink);

/// Writes whole_trial_json() of each trial.
Result<void> write_jsonl(const Study& study, const StudyRecord& record, const WholeTrial& whole, const Sink& sink);

/// Returns a cell, quoted if necessary.
std::string csv_cell(std::string_view text);

}  // namespace hpo::exporting
