// Formats a trial's configuration as `hpo best` prints it.
#pragma once

#include <optional>
#include <string>

#include "hpo/study.hpp"
#include "hpo/trial.hpp"
#include "orchestrator/sampling/posterior_ranking.hpp"

namespace hpo {

/// Returns the configuration of `trial`, which must have a value. `format` is one of:
///   yaml  a study file without a search space, for `hpo train` and `hpo run`. It trains this configuration with the
///         trial's seed and the same data split.
///   json  {"schema", "study", "trial", "metric", "value", "step", "params", "worker"}. "params" holds the sampled
///         parameters, "worker" every key that the worker received.
///   args  --name=value arguments on one line, quoted for a POSIX shell
///   env   NAME=value lines, quoted for a POSIX shell
/// `expected`, of the trial, is a comment in YAML, and an object "expected" in JSON.
std::string best_config(const Study& study, const TrialRecord& trial, const std::string& format,
                        const std::optional<Expected>& expected = {});

}  // namespace hpo
