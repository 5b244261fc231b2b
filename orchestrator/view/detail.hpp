// Draws all details of one trial: parameters, curve, reason, files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/study.hpp"
#include "hpo/trial.hpp"
#include "orchestrator/view/canvas.hpp"
#include "orchestrator/view/chart.hpp"

namespace hpo::view {

/// The facts on a trial's page that the database does not have.
struct TrialFiles {
    std::string log;                           ///< empty if there is none
    std::string checkpoints;                   ///< the trial's folder; empty if there is none
    std::vector<std::string> log_lines = {};   ///< the last ones of the log, for a page that shows them
    std::string tags = {};                     ///< "keep, may"; empty if there are none
    std::string notes = {};                    ///< a line each; empty if there are none
    std::optional<double> predicted_end = {};  ///< of the objective, while the trial runs, by a stopping rule
};

/// The trial with which a page compares another one, by the objective's metric. Without one, the page has no chart.
struct Rival {
    std::int64_t number = 0;  ///< 0: none
    Curve curve = {};
};

/// Draws at most screen.height lines after the first `above`, with the last step first. With height 0 it draws all
/// lines, with the steps in their order. `rival` draws a chart.
std::string draw_trial(const Study& study, const TrialRecord& trial, const TrialFiles& files, Screen screen,
                       std::int64_t above = 0, const Rival* rival = nullptr);

/// Returns the number of lines that draw_trial() has on a screen of this width.
std::int64_t trial_lines(const Study& study, const TrialRecord& trial, const TrialFiles& files, Screen screen,
                         const Rival* rival = nullptr);

/// Draws two trials side by side, all lines: their state, value, time and memory, and their parameters, those that
/// differ with a mark; and both curves.
std::string draw_comparison(const Study& study, const TrialRecord& one, const TrialRecord& other, const Curve& own,
                            const Curve& others, Screen screen);

}  // namespace hpo::view
