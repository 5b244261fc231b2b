// Draws the summary at the end of `hpo run` and of `hpo ls STUDY`: what was found, and which commands come next.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/view/canvas.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::view {

struct ReportFacts {
    std::string folder;                      ///< the study's folder, as a user may type it
    std::string end_reason;                  ///< why the session ended
    bool may_continue = false;               ///< whether `hpo run` would resume it
    std::string source;                      ///< the study file as it was given, for that command
    std::vector<std::string> costs = {};     ///< of stopping, a line each
    std::vector<std::string> insights = {};  ///< what the trials say of the parameters, a line each
};

/// The five best with their parameters, what stopping saved in measured time, where everything lies, what to run next.
/// As long as it needs; the screen's height does not count.
std::string draw_report(const Study& study, const StudyRecord& record, const Moment& moment, const ReportFacts& facts,
                        const Screen& screen);

}  // namespace hpo::view
