// Draws the time left of a study, as a range.
#pragma once

#include <optional>
#include <string>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/simulation/time_left.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::view {

/// Returns hpo::time_left() at this moment.
inline std::optional<TimeLeft> time_left(const Study& study, const StudyRecord& record, const Moment& moment) {
    return hpo::time_left(study, record, moment.seconds);
}

/// Returns the share of the study that is done, from 0 to 1. It is the share of the time if the time left is known,
/// else the share of the trials that have ended.
double part_done(const Study& study, const StudyRecord& record, const Moment& moment);

/// Returns "40 s to 1m 20s left", "12 to 26 s left", "about 5m left" or "at most 2h left".
std::string time_left_text(const TimeLeft& left);

}  // namespace hpo::view
