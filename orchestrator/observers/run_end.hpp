// The end of a session of hpo run: its report, its JSON line and its exit code.
#pragma once

#include <string>

#include "orchestrator/engine/run_observer.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo {

/// Returns the exit code of a session: 130 or 143 after a signal, also if it gave up a lock then and could not store
/// its last events; 1 if it failed in another way, or 2 if no host has worked; else 0.
int exit_code(const RunOutcome& outcome);

/// Returns the last line of --json: {"event": "ended", ...} (docs/json.md).
std::string end_line(const Study& study, const RunOutcome& outcome);

/// Returns the report of a session: best trials, insights, and how to resume. `resume` has the arguments that resume
/// the study. Computes insights only if no signal ended the session.
std::string end_report(const Study& study, const StudyFolder& folder, RunOutcome& outcome, const std::string& resume);

/// Throws Fatal if the session failed, or if it ended by itself and no trial has a value.
void refuse_without_result(const Study& study, const RunOutcome& outcome);

}  // namespace hpo
