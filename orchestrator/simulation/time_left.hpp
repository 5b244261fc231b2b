// Estimates the time left of a study, as a range, from its budgets, its rungs and its speed so far. Pure.
//
// The rest of the study is simulated a few dozen times (future.hpp) from the costs, the ends and the ranks at rungs of
// its trials (past.hpp). The range contains nine of ten simulations, with a margin on either side, since the trials
// that they draw from are a sample themselves. In a small study with rungs the range stays wide to the end, since it
// mostly depends on whether the last trial at a rung is promoted, which cannot be predicted.
#pragma once

#include <optional>

#include "hpo/event.hpp"
#include "hpo/study.hpp"

namespace hpo {

/// An estimate in seconds.
struct TimeLeft {
    double least = 0;
    double most = 0;      ///< at least `least`
    double expected = 0;  ///< the mean
};

/// Returns the estimate for a study that has run for `held_seconds`, in all sessions. Returns nothing until a trial has
/// ended or paused, unless the study has a budget of time.
std::optional<TimeLeft> time_left(const Study& study, const StudyRecord& record, double held_seconds);

}  // namespace hpo
