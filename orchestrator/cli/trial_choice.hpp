// Which trial a command means: `7`, `phase1/7`, or a study and a number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hpo {

struct TrialChoice {
    std::string study;                  ///< for choose_study; empty: the default
    std::optional<std::int64_t> trial;  ///< absent: the study as a whole
};

/// `what` is a number, STUDY/NUMBER, or (unless a trial is required) a study. A number or STUDY/NUMBER that is itself a
/// study's folder is a trial all the same: write ./7 for the folder. `study` is what --study said; both places at once
/// must not contradict. Ends the command (exit code 2) when no trial can be meant.
TrialChoice split_trial(const std::string& what, const std::string& study, bool trial_required);

}  // namespace hpo
