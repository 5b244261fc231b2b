#pragma once

#include <string>
#include <string_view>

#include "orchestrator/lookup/study_snapshot.hpp"

namespace hpo {

/// Returns "running", "interrupted", "failed" (as each of its trials, or as its last session without any value) or
/// "finished".
std::string_view state_of(const StudySnapshot& snapshot);

/// Returns "12/64": the trials that have ended, and those of the budget; "12" where the time alone ends the study.
std::string ended_of_budget(const StudySnapshot& snapshot);

/// Returns "val_loss, latency" of several objectives.
std::string metrics_text(const Objective& objective);

/// Returns "front of 3", the trials of the Pareto front.
std::string front_size(const StudySnapshot& snapshot);

}  // namespace hpo
