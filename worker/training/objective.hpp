// Checks that a study's objective can be computed from the data.
#pragma once

#include <string>

#include "worker/data/dataset.hpp"

namespace hpo {

/// Throws InvalidTrial if the metric is none that a trial on this data reports. Names those that there are.
void check_objective(const std::string& metric, const DataShape& shape);

}  // namespace hpo
