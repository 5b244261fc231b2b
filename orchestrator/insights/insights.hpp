// Computes the findings that `hpo run` reports at its end in addition to the best trials.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/analysis/importance.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"

namespace hpo {

/// Returns the findings of `hpo best --repeat`, with the deviation between repeats of the same configuration pooled
/// over the configurations.
analysis::Repeats repeats_of(const StudySnapshot& snapshot);

/// Wraps the text at 80 columns. The first line begins with `label`, the others are indented.
std::vector<std::string> labelled_lines(const std::string& label, const std::string& text);

/// Returns lines about a study that has ended: findings about parameters, bounds and ties, advice, the choice under
/// noise, quicker trials, then the machine's bottleneck.
/// They are empty if nothing is certain enough, if the steps cannot be read, or if the computation would keep the user
/// waiting because of very many steps (`hpo importance` has no such limit). Reads the steps of the analysed trials into
/// the snapshot.
std::vector<std::string> insights_of(StudySnapshot& snapshot);

/// Analyses a study of any size. Reads the parameters of the best trials, and the parameters and steps of the analysed
/// trials, into the snapshot. Throws Fatal if they cannot be read.
analysis::Importance whole_importance_of(StudySnapshot& snapshot);

struct Insights {
    std::vector<std::string> stopping;  ///< findings about each rule that stopped trials
    std::vector<std::string> lines;     ///< the limits of the machine
    std::string whole;                  ///< the output of `hpo importance`; of a large study from fewer trials
};
/// Returns the insights for `hpo show STUDY`, for a study of any size. Reads the parameters of the best trials, and the
/// parameters and steps of the analysed trials, into the snapshot. Throws Fatal if they cannot be read.
Insights insights_at_once(StudySnapshot& snapshot);

/// Returns the machine's bottleneck while trials trained, in a sentence or two. Empty if there are too few samples.
std::string limit_of_machine(const StudySnapshot& snapshot);

}  // namespace hpo
