// The table of `hpo top`: its columns, the order of its rows, and which of them a screen shows. Pure.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/view/canvas.hpp"
#include "orchestrator/view/chart.hpp"
#include "orchestrator/view/trial_field.hpp"
#include "orchestrator/view/trial_filter.hpp"

namespace hpo::view {

using Trials = std::vector<const TrialRecord*>;

/// The order of rows by a field. By default the best comes first, and otherwise the extreme that users look for: the
/// fastest, the longest, the largest memory, but the first trial and the least parameter.
struct TopOrder {
    TrialField field;
    bool reversed = false;
    friend bool operator==(const TopOrder&, const TopOrder&) = default;
};

/// Returns true if the greatest value comes first.
bool descends(const TopOrder& order, const Objective& objective);

/// Returns the trials that match, in order, equal ones by number. By `value`, those that count come first (of several
/// objectives the Pareto front first, and after those that keep the constraints the ones that break them), then
/// running and paused ones without a value, seeds of other trials, failed ones, queued ones. By `state`, running trials
/// come first, then paused ones, then ended ones with the best first. While no process runs the study (`held`), paused
/// trials are listed among those that have ended. Trials that do not have the field come last, also if reversed.
Trials ordered(const StudyRecord& record, const Objective& objective, const TopOrder& order, bool held,
               const TrialFilter& filter = {});

/// Returns the best trial, if there is one, or the Pareto front of a study with several objectives.
Trials best_of(const Study& study, const StudyRecord& record);

/// The columns beside the trial's number, state, step and value.
enum class TopColumns { parameters, resources };

struct Column {
    std::string title;
    int width = 0;
    int most_width = 0;  ///< of a screen with room to spare; 0: as `width`
    bool right = false;
    int rank = 0;                          ///< on a narrow screen the columns of the highest rank are left out first
    std::optional<TrialField> field = {};  ///< by which the column sorts; absent if it does not
    std::function<std::string(const TrialRecord&)> cell = {};
    Style style = Style::plain;
};

/// Returns the columns that fit, in their order, without the last one. `curves` are those of trials of which the record
/// lacks steps. All arguments must outlive the result.
std::vector<Column> fitting_columns(const Study& study, const StudyRecord& record, TopColumns set,
                                    const std::set<std::string>& hidden, const Trials& best, const Curves& curves,
                                    const Screen& screen);

/// Returns the width of the last column, which has the device or the reason; 0 if it does not fit.
int reason_width(const std::vector<Column>& columns, const Screen& screen);

/// Draws the titles. The column by which the rows are ordered has a mark.
Line head_line(const std::vector<Column>& columns, const TopOrder& order, const Objective& objective,
               const Screen& screen);

/// Draws a trial. Its number has a mark if it is among the best or marked by the user, and another one if it is chosen
/// and colours are off. The last column begins with the predicted end, if there is one.
Line row_line(const TrialRecord& trial, const std::vector<Column>& columns, bool best, bool marked, bool chosen,
              std::optional<double> predicted_end, const Screen& screen);

}  // namespace hpo::view
