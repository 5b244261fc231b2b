// Draws the trials of a study as a table: all of them (hpo ls), or the Pareto front (hpo best).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// Returns the study's name with the number of trials in each state, and a row for each trial. `tags` has those of the
/// trials that have any, by number.
std::string draw_trial_list(const Study& study, const StudyRecord& record,
                            const std::map<std::int64_t, std::string>& tags, const Screen& screen);

/// Returns the size of the Pareto front, a row for each of its trials, and the constraints that trials break.
std::string draw_front(const Study& study, const StudyRecord& record, const Screen& screen);

}  // namespace hpo::view
