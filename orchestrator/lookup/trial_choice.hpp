// Finds the trial that a command's arguments name: `7`, `phase1/7`, or a study and a number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hpo {

struct TrialChoice {
    std::string study;                  ///< argument for choose_study; empty selects the default
    std::optional<std::int64_t> trial;  ///< absent if the study as a whole is meant
};

/// Splits `argument`, which is a trial's number, STUDY/NUMBER or, unless `trial_required`, a study. A study's folder
/// whose name reads as a number must be written as a path, such as ./7. `study` is the value of --study, or empty.
/// Throws Fatal with exit code 2 if both name a study, or if a trial is required and `argument` is none.
TrialChoice split_trial(const std::string& argument, const std::string& study, bool trial_required);

}  // namespace hpo
