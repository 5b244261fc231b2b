// Estimates how long a study will still take, as a range, from its budgets, its rungs and its speed so far. Pure.
//
// The rest of the study is simulated a few dozen times (future.hpp) from what its trials have cost, where they ended
// and how they rank at the rungs (past.hpp). The range contains nine of ten simulations and a margin on either side,
// because the trials that they draw from are a sample themselves. In a small study with rungs the range stays wide to
// the end: it depends mostly on whether the last trial at a rung is promoted, which cannot be predicted.
#pragma once

#include <optional>
#include <string>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::view {

/// Seconds, least <= most.
struct TimeLeft {
    double least = 0;
    double most = 0;
    double expected = 0;  ///< the mean, for views with room for one figure
};

/// Returns the estimate; nothing until a trial has ended or paused, unless the study has a budget of time.
std::optional<TimeLeft> time_left(const Study& study, const StudyRecord& record, const Moment& moment);

/// Returns the part of the study that is done, from 0 to 1: of its budget of time if that will be used up, otherwise by
/// the time left, and as long as that is not known by the trials that have ended.
double part_done(const Study& study, const StudyRecord& record, const Moment& moment);

/// "40 s to 1m 20s left", "12 to 26 s left", "about 5m left", "at most 2h left".
std::string time_left_text(const TimeLeft& left);

}  // namespace hpo::view
