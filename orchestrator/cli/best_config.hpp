// The best configuration in the forms that `hpo best` writes.
#pragma once

#include <string>

#include "hpo/study.hpp"
#include "hpo/trial.hpp"

namespace hpo {

/// `format`:
///   yaml  a study file with nothing left to vary, which trains this configuration with this trial's seed and the same
///         split: for `hpo train` and `hpo run`
///   json  {"study", "trial", "metric", "value", "step", "params", "worker"}: params were sampled, worker is everything
///   args  --name=value arguments, quoted for a POSIX shell, one line
///   env   NAME=value lines, quoted for a POSIX shell
std::string best_config(const Study& study, const TrialRecord& trial, const std::string& format);

/// One POSIX shell word that reads as `text`: bare if it may be, else in single quotes.
std::string shell_word(const std::string& text);

}  // namespace hpo
