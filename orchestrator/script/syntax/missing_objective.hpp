// Explains why the metrics of a script lack the objective.
#pragma once

#include <string>

#include "hpo/trial.hpp"

namespace hpo::script {

/// The metrics that were read instead of the objective. Members may be empty.
struct ReadInstead {
    Metrics metrics;
    std::string problem;  ///< why a file was not read, or a pattern did not match; quotes where, and names the cure
    std::string nearest;  ///< the line that most resembles a report of the objective
    bool silent = false;  ///< the command has printed nothing at all

    /// Returns true if the script has reported something, so that the study looks for the wrong thing.
    [[nodiscard]] bool anything() const { return !metrics.empty() || !problem.empty() || !nearest.empty(); }
};

enum class MetricsFrom { output, output_of_rank_0, file, shim };

/// Returns the reason of a trial whose script ended well without the objective, with the cure. `file` is the path of
/// the file of metrics.
std::string missing_objective(const std::string& objective, MetricsFrom from, const std::string& file,
                              const ReadInstead& instead);

}  // namespace hpo::script
