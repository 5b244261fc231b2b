// hpo best --repeat: trains the best configurations again with new seeds and ranks them by their mean.
#pragma once

#include <cstdint>

#include "orchestrator/analysis/repeat_study.hpp"

namespace hpo {

struct StudySnapshot;

/// Trains the missing repeats of the configurations and prints the ranking. Returns the exit code. Throws Fatal if the
/// study cannot be repeated. `configurations` are trials of the snapshot, at least one.
int repeat_best(const StudySnapshot& snapshot, const std::vector<const TrialRecord*>& configurations,
                std::int64_t repeats, bool json);

}  // namespace hpo
