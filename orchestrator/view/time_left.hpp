// How long a study will still take: a range, from what its budgets, its rungs and its own pace allow. Pure.
//
// The steps that are left are counted segment by segment: from the start to the first rung of a rule that pauses, from
// rung to rung, and from the last one to the full budget. Into a segment go the trials that are in it or will begin it:
// of those that reach a rung the rule's share goes on. Within a segment trials end as those before them did at the same
// step. Each step costs what it cost so far in its segment, and a script that starts anew after a pause pays for its
// steps again. What the study did in its time so far, waits and starts of workers included, is the rate for the rest;
// the trials that train last leave places empty, which the range allows for.
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
    /// The one figure where there is room for one: in the middle by ratio, so that it is off by equal factors.
    [[nodiscard]] double middle() const;
};

/// Absent until a trial has ended or paused, unless the study has a budget of time.
std::optional<TimeLeft> time_left(const Study& study, const StudyRecord& record, const Moment& moment);

/// How much of the study's time is over, from 0 to 1: with a budget of time that will be used up, of that; else by the
/// time left, and before that is known by the trials that have ended.
double part_done(const Study& study, const StudyRecord& record, const Moment& moment);

/// "40 s to 1m 20s left", "12 to 26 s left", "about 5m left", "at most 2h left".
std::string time_left_text(const TimeLeft& left);

}  // namespace hpo::view
