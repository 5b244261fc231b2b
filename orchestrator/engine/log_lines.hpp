// The lines of hpo.log: one for each event of a trial but its steps.
#pragma once

#include <cstddef>
#include <string>

#include "hpo/event.hpp"
#include "hpo/study.hpp"

namespace hpo {

/// "hpo 1.0 on host, pid 7, 4 workers at once, rules asha and plateau": how a session began.
std::string session_line(const Study& study, const event::SessionStarted& session, int workers);

/// "58 paused trials ended with the study: no rule promoted them".
std::string end_with_study_line(std::size_t trials);

/// The line for an event that `record` holds already; empty for one that gets none (steps, measurements, proposals).
/// Takes O(1) for any number of trials and steps. The first line of a reason is logged.
std::string log_line(const Study& study, const StudyRecord& record, const StoredEvent& stored);

}  // namespace hpo
