// Finds the earlier studies that `warm_start: auto` learns from.
#pragma once

#include <string>
#include <vector>

#include "hpo/study.hpp"

namespace hpo {

/// Returns the number of parameters that `other` varies as `study` does, if `study` may learn from it, else 0: the same
/// model of the native worker or the same script trains the trials of both, both rank them by the same metric alone,
/// and at least half of the parameters of `study` are in common, or all of both studies if neither has a worker. Ranges
/// and data may differ.
std::size_t parameters_alike(const Study& study, const Study& other);

/// Returns the names of the studies below runs_folder() with parameters_alike(), those with most first, then the
/// newest. Of a folder with very many studies only the newest are looked at. Studies that cannot be read are left out.
/// Empty if the study's sampler learns from no other study.
std::vector<std::string> alike_studies(const Study& study);

}  // namespace hpo
