// Simulates the rest of a study from its record and its rules. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "hpo/study.hpp"
#include "orchestrator/view/past.hpp"

namespace hpo::view {

/// Seconds until the study has used up its budget of trials, one figure a simulation, in ascending order.
/// `past.tells()` must hold.
///
/// A simulation goes on with the study: a free slot takes the best trial that may be promoted, else a new trial. A new
/// trial costs what one of the trials before it did. At the next rung a trial ranks as it did at the last one or, two
/// times in three, anywhere. Once all trials have started, the best of each rung is promoted (stopping/asha.cpp). The
/// same past gives the same simulations, and a trial draws the same numbers from one moment to the next.
std::vector<double> draw_futures(const Study& study, const Past& past);

}  // namespace hpo::view
