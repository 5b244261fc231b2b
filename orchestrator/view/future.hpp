// How a study may go on: drawn, from its past and its rules. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "hpo/study.hpp"
#include "orchestrator/view/past.hpp"

namespace hpo::view {

/// Seconds until the study has used up its trials, in each of a number of drawn futures, least first. `past` tells.
///
/// A future is the study played on: places are given to those that may go on at a rung, the best first, else to new
/// trials; a trial comes to the next rung with a standing there like its last one or with any; once no trial is to
/// come, the best of each rung goes on (stopping/asha.cpp). New trials are like ones that came before. The same past
/// draws the same futures, and trials keep their luck from one moment to the next.
std::vector<double> draw_futures(const Study& study, const Past& past);

}  // namespace hpo::view
