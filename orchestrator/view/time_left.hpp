// Estimates how long a study will still take, as a range, from its budgets, its rungs and its speed so far. Pure.
//
// The rest of the study is simulated a few dozen times (future.hpp) from what its trials have cost, where they ended
// and how they rank at the rungs (past.hpp). The range contains nine of ten simulations, with a margin on either side,
// since the trials that they draw from are a sample themselves. In a small study with rungs the range stays wide to the
// end, since it mostly depends on whether the last trial at a rung is promoted, which cannot be predicted.
#pragma once

#include <optional>
#include <string>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::view {

/// An estimate in seconds.
struct TimeLeft {
    double least = 0;
    double most = 0;      ///< at least `least`
    double expected = 0;  ///< the mean
};

/// Returns the estimate. Returns nothing until a trial has ended or paused, unless the study has a budget of time.
std::optional<TimeLeft> time_left(const Study& study, const StudyRecord& record, const Moment& moment);

/// Returns the share of the study that is done, from 0 to 1. It is the share of the time if the time left is known,
/// else the share of the trials that have ended.
double part_done(const Study& study, const StudyRecord& record, const Moment& moment);

/// Returns "40 s to 1m 20s left", "12 to 26 s left", "about 5m left" or "at most 2h left".
std::string time_left_text(const TimeLeft& left);

}  // namespace hpo::view
