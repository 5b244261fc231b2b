// How long a study will still take: a range, from what its budgets, its rungs and its own pace allow. Pure.
//
// The rest of the study is simulated a few dozen times (future.hpp) from what its trials have cost, where they ended
// and how they rank at the rungs (past.hpp). The range holds nine of ten of these simulations and a margin on either
// side, as what they are drawn from is itself a sample. In a small study with rungs the range stays wide to the end:
// whether the last trial at a rung is promoted is then half of what is left, and nothing predicts it.
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
    double expected = 0;  ///< the mean, where there is room for one figure
};

/// Absent until a trial has ended or paused, unless the study has a budget of time.
std::optional<TimeLeft> time_left(const Study& study, const StudyRecord& record, const Moment& moment);

/// How much of the study's time is over, from 0 to 1: with a budget of time that will be used up, of that; else by the
/// time left, and before that is known by the trials that have ended.
double part_done(const Study& study, const StudyRecord& record, const Moment& moment);

/// "40 s to 1m 20s left", "12 to 26 s left", "about 5m left", "at most 2h left".
std::string time_left_text(const TimeLeft& left);

}  // namespace hpo::view
