// `hpo top`: the live table of a study's trials. What is shown and what a key does are functions of the record and of
// TopState; the terminal is somebody else's.
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

/// state: running first, then what waits with a checkpoint, then ended ones with the best first, then the queue; while
/// nobody runs the study those that wait stand among those that have ended.
enum class TopSort { state, number, value, speed, loss, memory };
inline constexpr int top_sorts = 6;
std::string_view to_text(TopSort sort);

struct TopState {
    TopSort sort = TopSort::state;
    std::int64_t chosen = 0;  ///< trial; 0: the first shown
    bool in_details = false;  ///< into the chosen trial
    int scrolled = 0;         ///< lines of the look that are above the screen
    bool asking = false;      ///< whether to stop it
    std::string message;      ///< of the last action; until the next key
};

/// What a key asks of the caller.
enum class TopRequest { none, quit, stop_chosen };

/// Trials in the order of `sort`; equal ones by number. `held`: somebody runs the study.
std::vector<const TrialRecord*> sorted(const StudyRecord& record, const Objective& objective, TopSort sort, bool held);

/// Moves, scrolls, sorts, looks, asks. `page`: rows of a page.
TopRequest on_key(TopState& state, Key key, const StudyRecord& record, const Objective& objective, int page,
                  bool held = true);

/// Scrolling a look at a trial ends where its text does. Call before drawing.
void stop_at_the_end(TopState& state, const Study& study, const StudyRecord& record, const TrialFiles& files,
                     const Screen& screen);

/// The table, or the trial that is looked into: at most screen.height lines. Height 0: all trials and no help line, for
/// a pipe or --once.
std::string draw_top(const Study& study, const StudyRecord& record, const Moment& moment, const TopState& state,
                     const TrialFiles& files, Screen screen);

}  // namespace hpo::view
