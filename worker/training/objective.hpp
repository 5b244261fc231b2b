// Checks that a study's objective can be computed from the data.
#pragma once

#include <string>

#include "worker/data/dataset.hpp"

namespace hpo {

/// Throws InvalidTrial if no trial on this data reports the metric. The message names the metrics that are reported.
void check_objective(const std::string& metric, const DataShape& shape);

}  // namespace hpo
