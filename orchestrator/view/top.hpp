// Draws `hpo top`, the live table of a study's trials. The picture and the effect of keys are pure functions of the
// record and of TopState. terminal.hpp does the input and output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/view/canvas.hpp"
#include "orchestrator/view/detail.hpp"
#include "orchestrator/view/summary.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::view {

/// `state` lists running trials first, then paused ones, then ended ones with the best first, then queued ones. While
/// no process runs the study, paused trials are listed among those that have ended.
enum class TopSort { state, number, value, speed, loss, memory };
inline constexpr int top_sorts = 6;
std::string_view to_text(TopSort sort);

struct TopState {
    TopSort sort = TopSort::state;
    std::int64_t chosen = 0;  ///< number of the chosen trial; 0 for the first shown
    bool in_details = false;  ///< true if the details of the chosen trial are shown
    int scrolled = 0;         ///< number of lines of the details above the screen
    bool asking = false;      ///< true if the user is asked whether to stop the chosen trial
    std::string message;      ///< result of the last action, until the next key
};

/// What the caller must do after a key.
enum class TopRequest { none, quit, stop_chosen };

/// Returns the trials in the order of `sort`, equal ones by number. `held` is true if a process runs the study.
std::vector<const TrialRecord*> sorted(const StudyRecord& record, const Objective& objective, TopSort sort, bool held);

/// Applies a key to `state` and returns what the caller must do. `page` is the number of rows that a page key moves.
TopRequest on_key(TopState& state, Key key, const StudyRecord& record, const Objective& objective, int page,
                  bool held = true);

/// Limits scrolling to the end of a trial's details. Must be called before drawing.
void stop_at_the_end(TopState& state, const Study& study, const StudyRecord& record, const TrialFiles& files,
                     const Screen& screen);

/// Draws the table or the details of a trial, at most screen.height lines. With height 0 it draws all trials without
/// the help line, for a pipe or --once.
std::string draw_top(const Study& study, const StudyRecord& record, const Moment& moment, const TopState& state,
                     const TrialFiles& files, Screen screen);

}  // namespace hpo::view
