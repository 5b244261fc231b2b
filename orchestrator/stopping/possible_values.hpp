// The values that a metric can have, as far as its name tells. Pure.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "hpo/study.hpp"

namespace hpo {

struct PossibleValues {
    double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

/// Returns ranges of which the first that holds all values seen is the metric's: a share (accuracy, auc, f1, ...) lies
/// from 0 to 1 or to 100, r2 is at most 1, and losses and errors are at least 0. The list is empty for other names.
/// Metrics that are maximized are negated, so that smaller is better.
std::vector<PossibleValues> possible_values(const std::string& metric, Direction direction);

}  // namespace hpo
