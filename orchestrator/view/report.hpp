// Draws the summary at the end of `hpo run`: the results, and the next commands.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/view/canvas.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::view {

struct ReportFacts {
    std::string folder;                      ///< path of the study's folder, as a user may type it
    std::string end_reason;                  ///< why the session ended
    bool may_continue = false;               ///< true if `hpo run` would resume the study
    std::string source;                      ///< arguments of the `hpo run` that resumes it
    std::vector<std::string> insights = {};  ///< findings about the parameters, one per line
    bool failed = false;                     ///< the session failed, so that trials which it started have no end
    bool reason_follows = false;             ///< an error after the report says why no trial has a value
};

/// Returns the best value, the five best trials with their parameters, findings, the savings of stopping, the next
/// commands and the study's folder. The report is as long as necessary; the screen's height is ignored.
std::string draw_report(const Study& study, const StudyRecord& record, const Moment& moment, const ReportFacts& facts,
                        const Screen& screen);

/// Returns the line of the report about stopping: savings by rules, and the cost of restarts. Empty if nothing is
/// known to have been left out.
std::string savings_text(const Study& study, const StudyRecord& record);

}  // namespace hpo::view
