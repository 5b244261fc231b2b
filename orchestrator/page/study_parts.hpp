// Reads the parts of a page that its record does not hold: curves, attempts, failures, the machine.
#pragma once

#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/page/columns.hpp"

namespace hpo::page {

/// Returns the curves of the trials that have one: of all, or of a large study the best and others at equal distances.
Json curves_of(const StudySnapshot& snapshot);

/// Adds where and when trials ran, and the sessions.
void add_events(Json& json, const StudySnapshot& snapshot);

/// Returns the trials that failed or diverged, the last ones first, with their reasons and the ends of their logs.
Json failures_of(const StudySnapshot& snapshot);

/// Returns the machine on which the page is written, which the study may have run on.
Json machine();

}  // namespace hpo::page
