// One trial in full: parameters, curve, reason, files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hpo/study.hpp"
#include "hpo/trial.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

struct TrialFiles {
    std::string log;          ///< empty: there is none
    std::string checkpoints;  ///< the trial's folder; empty: there is none
};

/// At most screen.height lines after the first `above`, the last step first; height 0: all lines, the steps in their
/// order.
std::string draw_trial(const Study& study, const TrialRecord& trial, const TrialFiles& files, Screen screen,
                       std::int64_t above = 0);

/// All lines that there are on a screen of this width.
std::int64_t trial_lines(const Study& study, const TrialRecord& trial, const TrialFiles& files, Screen screen);

/// The values of a metric over the steps that reported it.
std::vector<double> metric_curve(const TrialRecord& trial, const std::string& metric);

}  // namespace hpo::view
