// Reading the studies that another one learns from.
#pragma once

#include <vector>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/sampling/prior_study.hpp"

namespace hpo {

/// The trials that the studies of `study.warm_start` have by now, in their order. Fails, with the place and the cure:
/// there is no such study, it cannot be read, or none of its ended trials lies in this space. Changes nothing there.
Result<std::vector<PriorStudy>> load_prior_studies(const Study& study);

/// The trials of other studies that the next session of `study` learns from: those that it began with, if it has begun,
/// whatever became of the other studies since. To be called only while this process does not hold the study.
Result<std::vector<PriorStudy>> prior_studies_of(const Study& study);

}  // namespace hpo
