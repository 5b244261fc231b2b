// Simulates the rest of a study from its record and its rules. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "hpo/study.hpp"
#include "orchestrator/simulation/past.hpp"

namespace hpo {

/// Simulates the rest of the study several times. Returns the seconds that each simulation takes until the budget of
/// trials is used up, in ascending order. Requires past.can_estimate().
///
/// In a simulation a free worker takes the best trial that may be promoted, or else a new one. A new trial costs as
/// much as a random earlier trial. At the next rung a trial keeps its rank with a probability of about one third and
/// has a random rank otherwise. Once all trials have started, the best one of each rung is promoted
/// (stopping/asha.cpp). The result depends on `past` alone, and a trial draws the same random numbers in later calls.
std::vector<double> draw_futures(const Study& study, const Past& past);

}  // namespace hpo
