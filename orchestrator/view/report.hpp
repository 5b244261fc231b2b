// The summary at the end of `hpo run`, and of `hpo ls STUDY` for people: what was found and what to do with it.
#pragma once

#include <string>

#include "orchestrator/view/canvas.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::view {

struct ReportFacts {
    std::string folder;         ///< the study's, as a user may type it
    std::string end_reason;     ///< why the session ended, as text
    bool may_continue = false;  ///< `hpo run` would go on with it
    std::string source;         ///< the study file as it was given, for that
};

/// The five best with their parameters, what stopping saved in measured time, where everything lies, what to run next.
/// As long as it needs; the screen's height does not count.
std::string draw_report(const Study& study, const StudyRecord& record, const Moment& moment, const ReportFacts& facts,
                        const Screen& screen);

}  // namespace hpo::view
