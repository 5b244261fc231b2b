// The measured pace of trials. Pure.
#pragma once

#include <optional>
#include <vector>

#include "hpo/event.hpp"

namespace hpo {

/// Returns the seconds per step of each trial in the order of `record.trials`, or nothing for a trial where they are
/// not known. They are the median of the times between steps. The start (an interpreter and its imports) does not
/// count; for a trial with a single step it is estimated from the other trials.
std::vector<std::optional<double>> step_seconds(const StudyRecord& record);

}  // namespace hpo
