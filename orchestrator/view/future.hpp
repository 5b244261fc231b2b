// Simulates the rest of a study from its record and its rules. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "hpo/study.hpp"
#include "orchestrator/view/past.hpp"

namespace hpo::view {

/// Returns the seconds until the study has used up its budget of trials, one figure for each simulation, ascending.
/// Requires past.can_estimate().
///
/// A simulation continues the study. A free worker takes the best trial that may be promoted, or else a new one. A new
/// trial costs as much as a random earlier trial. At the next rung a trial has the same rank as at the last one in one
/// of three cases, and a random rank otherwise. Once all trials have started, the best one of each rung is promoted
/// (stopping/asha.cpp). The simulations depend on `past` only, and a trial draws the same numbers in later calls.
std::vector<double> draw_futures(const Study& study, const Past& past);

}  // namespace hpo::view
