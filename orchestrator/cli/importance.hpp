// What the end of `hpo run` says beside the best trials.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/cli/study_snapshot.hpp"

namespace hpo {

/// The standard deviation of the objective that repeats of the best trials have shown (`hpo best --repeat`); absent:
/// there are none.
std::optional<double> repeated_noise(const StudySnapshot& snapshot);

struct Insights {
    std::vector<std::string> costs;  ///< what stopping may have cost, a line a rule
    std::vector<std::string> lines;  ///< of parameters, ties and next steps; at the end, what limited the machine
};

/// Of a study that has ended; empty where nothing is sure, where it cannot be read, or where it is so large that people
/// would wait for it (hpo importance takes its time).
Insights insights_of(StudySnapshot snapshot);

}  // namespace hpo
