// Draws all details of one trial: parameters, curve, reason, files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hpo/study.hpp"
#include "hpo/trial.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

struct TrialFiles {
    std::string log;          ///< empty if there is none
    std::string checkpoints;  ///< the trial's folder; empty if there is none
};

/// Draws at most screen.height lines after the first `above`, with the last step first. With height 0 it draws all
/// lines, with the steps in their order.
std::string draw_trial(const Study& study, const TrialRecord& trial, const TrialFiles& files, Screen screen,
                       std::int64_t above = 0);

/// Returns the number of lines that draw_trial() has on a screen of this width.
std::int64_t trial_lines(const Study& study, const TrialRecord& trial, const TrialFiles& files, Screen screen);

}  // namespace hpo::view
