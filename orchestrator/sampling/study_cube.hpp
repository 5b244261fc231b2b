// The unit cube of a study's space, as its sampler sees it.
#pragma once

#include <memory>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/sampling/policy.hpp"
#include "orchestrator/sampling/sampler.hpp"

namespace hpo {

/// Returns the map between the cube and parameters by which the study's sampler proposes. Fails as CubeMap::make.
Result<std::shared_ptr<const CubeMap>> cube_of(const Study& study);

/// Returns the setup of a sampler for the study's seed and the cube. All else has its default.
SamplerSetup setup_in(const std::shared_ptr<const CubeMap>& cube, const Study& study);

}  // namespace hpo
