// Where things are on the screen of `hpo top`: for drawing, and for keys and clicks that depend on it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "orchestrator/view/top.hpp"

namespace hpo::view {

/// The table as laid out on a screen: the lines drawn so far, and the rows below. `best` and the input must stay where
/// they are while it is used.
struct TopLayout {
    Canvas canvas;  ///< with the head and the titles
    int titles;     ///< row of the titles; the first trial is below
    const Trials& best;
    Trials rows;                                  ///< all that match, in order
    std::vector<Column> columns;                  ///< those that fit
    std::size_t first = 0, page = 0, chosen = 0;  ///< indices in `rows` of the first shown and the chosen; rows shown

    [[nodiscard]] std::size_t end() const { return std::min(rows.size(), first + page); }
};

/// With height 0 the screen has room for all rows. A layout that is not `drawn` may leave the lines of the head blank.
TopLayout layout_of(const TopInput& input, const TopState& state, const Trials& best, Screen screen, bool drawn);

/// Returns the screen without its last line, which has the keys.
Screen above_bottom(Screen screen);

/// Returns the first row to show, so that the chosen one is in the middle of the page if possible.
std::size_t first_row(std::size_t chosen, std::size_t count, std::size_t page);

/// Returns true if the study has a trial of this number.
bool is_known(const TopInput& input, std::int64_t trial);

/// Returns the trial with which the chosen one is compared: the marked one, otherwise the best; 0 if there is none.
std::int64_t rival_of(const TopInput& input, const TopState& state);

}  // namespace hpo::view
