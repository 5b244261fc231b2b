// Trials as text, one a line: CSV and JSON Lines.
#pragma once

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/export/output.hpp"

namespace hpo::exporting {

/// RFC 4180 (lines end with CR LF, cells are quoted where they must be), one row a trial: trial, state, value,
/// best_step, steps, attempt, a column "params.NAME" for each parameter of the space, "values.NAME" for each metric of
/// the steps that count, rule, reason, seed, started, ended, device, peak_host_bytes, peak_device_bytes. What is
/// absent is an empty cell; numbers are written with all their digits.
Result<void> write_csv(const Study& study, const StudyRecord& record, const Sink& sink);

/// One object a trial: whole_trial_json().
Result<void> write_jsonl(const Study& study, const StudyRecord& record, const Sink& sink);

/// A cell of RFC 4180.
std::string csv_cell(std::string_view text);

}  // namespace hpo::exporting
