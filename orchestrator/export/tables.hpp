// Writes trials as CSV and as JSON Lines, one trial per line.
#pragma once

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/export/registry.hpp"
#include "orchestrator/output/output_path.hpp"

namespace hpo::exporting {

/// Writes CSV by RFC 4180 (lines end with CR LF, cells are quoted where necessary). The columns are trial, state,
/// value, best_step, steps, attempt, "params.NAME" for each parameter of the space, "values.NAME" for each metric of
/// the step that determines a trial's value, "closing.NAME" for each metric reported after the last step, rule, reason,
/// seed, started, ended, device, peak_host_bytes and peak_device_bytes. Absent values are empty cells. Numbers have all
/// their digits.
Result<void> write_csv(const Study& study, const StudyRecord& record, const WholeTrial& whole, const Sink& sink);

/// Writes whole_trial_json() of each trial as one line.
Result<void> write_jsonl(const Study& study, const StudyRecord& record, const WholeTrial& whole, const Sink& sink);

/// Returns a cell, quoted if necessary.
std::string csv_cell(std::string_view text);

}  // namespace hpo::exporting
