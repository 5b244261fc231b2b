// Draws `hpo top`, the live table of a study's trials, and the pages that keys open from there. The picture and the
// effect of keys are pure functions of TopInput and TopState. terminal.hpp does the input and output.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/view/canvas.hpp"
#include "orchestrator/view/chart.hpp"
#include "orchestrator/view/detail.hpp"
#include "orchestrator/view/summary.hpp"
#include "orchestrator/view/terminal.hpp"
#include "orchestrator/view/top_table.hpp"

namespace hpo::view {

/// The facts of the study at the moment of a picture. All members must outlive the call.
struct TopInput {
    const Study& study;
    const StudyRecord& record;
    const Moment& moment;
    const Curves& curves;                     ///< of trials of which the record lacks steps
    const TrialFiles& files;                  ///< of the chosen trial
    const std::vector<std::string>& studies;  ///< names of the studies to which one can switch
    std::string_view left = {};               ///< "8 to 25 s left"; empty if it is not known
};

enum class TopPage { table, trial, log, comparison, parameters, studies, help };
enum class TopQuestion { none, stop_trial, stop_study };

struct TopState {
    TopPage page = TopPage::table;
    TopPage opened_from = TopPage::table;  ///< of a comparison or a log, where esc goes back to
    TopColumns columns = TopColumns::parameters;
    TopOrder order;
    std::string filter;                        ///< as accepted; it can be parsed
    std::optional<std::string> typing;         ///< the filter while the user types it
    std::set<std::string> hidden;              ///< parameters without a column
    std::int64_t chosen = 0;                   ///< number of the chosen trial; 0 for the first shown
    std::int64_t marked = 0;                   ///< number of the trial to compare with; 0: the best
    int picked = 0;                            ///< chosen row of a list of parameters or studies
    int scrolled = 0;                          ///< lines of a page above the screen; of a log, below it
    TopQuestion question = TopQuestion::none;  ///< that the next key answers
    std::string message;                       ///< result of the last action, until the next key
};

/// The action of the caller after a key. `open_study` is about the picked one of TopInput::studies.
enum class TopRequest { none, quit, stop_chosen, stop_study, open_study };

/// Applies a key to `state` and returns the action of the caller.
TopRequest on_key(TopState& state, const Key& key, const TopInput& input, const Screen& screen);

/// Adapts the state to changes of the study, or to the screen: limits scrolling to the end of a page. Must be
/// called before drawing.
void settle(TopState& state, const TopInput& input, const Screen& screen);

/// Draws the current page, at most screen.height lines. With height 0 it draws the table of all trials without the help
/// line, for a pipe or --once.
std::string draw_top(const TopInput& input, const TopState& state, Screen screen);

/// Returns the numbers of the trials whose curves the page shows: those in the rows of the table on this screen, or the
/// one with which the chosen trial is compared.
std::vector<std::int64_t> shown_trials(const TopInput& input, const TopState& state, const Screen& screen);

}  // namespace hpo::view
