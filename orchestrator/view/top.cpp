#include "orchestrator/view/top.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "hpo/printable.hpp"
#include "orchestrator/view/top_layout.hpp"

namespace hpo::view {
namespace {

/// Returns "3/1500", and with a filter "3/12 of 1500".
std::string position_text(const TopLayout& layout, const StudyRecord& record) {
    const auto count = layout.rows.size();
    std::string text = std::to_string(count == 0 ? 0 : layout.chosen + 1) + "/" + std::to_string(count);
    if (count < record.trials.size()) text += " of " + std::to_string(record.trials.size());
    return text;
}

/// Returns the keys of a page, first those that a narrow screen must show. `ended`: its trial cannot be stopped.
std::string_view keys_of(TopPage page, bool ended) {
    switch (page) {
        case TopPage::table:
            return "? help  enter details  / filter  s sort  r reverse  tab columns  q quit";
        case TopPage::trial:
            return ended ? "scroll  esc back  n p next, previous  l log  c compare"
                         : "scroll  esc back  n p next, previous  l log  c compare  x stop";
        case TopPage::log:
            return "scroll  esc back  g start  G end, which it follows";
        case TopPage::comparison:
            return "scroll  esc back  n p next, previous";
        case TopPage::parameters:
            return "select  space shows or hides  a all  esc back";
        case TopPage::studies:
            return "select  enter opens  esc back";
        case TopPage::help:
            return "scroll  any other key: back";
    }
    return {};
}

/// Draws the help of the keys, or the question and the typed text, and `right` at the right end.
Line bottom_line(const TopInput& input, const TopState& state, const std::string& right, const Screen& screen) {
    Line line;
    if (state.question == TopQuestion::stop_trial)
        return line.add("Stop trial " + std::to_string(state.chosen) + "? y: yes, any other key: no", Style::notice);
    if (state.question == TopQuestion::stop_study)
        return line.add("Stop the study? hpo run resumes it. y: yes, any other key: no", Style::notice);
    if (state.typing) {
        line.add("/ " + printable(*state.typing), Style::strong).add(screen.utf8 ? "▏" : "_");
        if (state.typing->empty())
            line.add("  such as " + (input.study.space.empty() ? "value" : printable(input.study.space[0].name)) +
                         "<0.2 state=complete; enter accepts, esc cancels",
                     Style::dim);
        else if (const auto parsed = parse_filter(*state.typing, input.study, input.record); !parsed)
            line.add("  " + parsed.error().message, Style::notice);
    } else if (!state.message.empty()) {
        line.add(printable(state.message), Style::notice);
    } else {
        if (state.page == TopPage::table && !state.filter.empty())
            line.add("/ " + printable(state.filter) + "  ", Style::accent);
        if (state.page != TopPage::table) line.add(screen.utf8 ? "↑↓ " : "j k ", Style::dim);
        const bool ended = is_known(input, state.chosen) && is_final(input.record.trial(state.chosen).state);
        line.add(keys_of(state.page, ended), Style::dim);
    }
    if (right.empty()) return line;
    // The position stays visible if the text before it is too long.
    const int room = screen.width - columns(right) - 1;
    if (line.width() <= room) return line.to(room + 1).add(right);
    return Line().add(line.render({room, 1, false, screen.utf8}), Style::dim).to(room + 1).add(right);
}

struct HelpEntry {
    std::string_view keys, text;
};
constexpr std::array help_entries{
    HelpEntry{"arrows, j k", "select a trial; page keys, g and G move further"},
    HelpEntry{"enter", "all about the trial: curve, parameters, memory, log, steps"},
    HelpEntry{"/", "filter: NAME=VALUE, != < <= > >= or ~ (contains), or a word alone;"},
    HelpEntry{"", "terms are separated by blanks: optimizer=adamw value<0.2 complete"},
    HelpEntry{"", "names are parameters, metrics, trial, state, step, value, it/s,"},
    HelpEntry{"", "time, memory, device and reason; esc shows all trials again"},
    HelpEntry{"s  S  r", "sort by the next or previous column; reverse the order"},
    HelpEntry{"b", "best first again"},
    HelpEntry{"tab", "parameters, or speed, time, memory and device"},
    HelpEntry{"o", "choose the parameters that are shown"},
    HelpEntry{"space", "mark a trial (+) to compare others with it"},
    HelpEntry{"c", "compare the trial with the marked one, or with the best"},
    HelpEntry{"l", "the trial's log, which is followed"},
    HelpEntry{"w", "switch to another study"},
    HelpEntry{"x  X", "stop the trial; stop the study; both ask first"},
    HelpEntry{"mouse", "click a row or a title, turn the wheel; with shift: select text"},
    HelpEntry{"q", "back, or quit"},
    HelpEntry{"", ""},
    HelpEntry{"*", "the best trial, or one of the Pareto front"},
    HelpEntry{"CURVE", "the objective's metric at the steps of the trial"},
    HelpEntry{"by lr", "the best value in each part of its range; higher is better"},
    HelpEntry{"-> 0.2", "the end of a running trial, as a stopping rule predicts it"},
};

/// Fills the screen above the last line, and adds that.
std::string with_bottom(std::string text, const Line& bottom, const Screen& screen) {
    const auto lines = std::count(text.begin(), text.end(), '\n');
    text.append(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, screen.height - 1 - lines)), '\n');
    return text + bottom.render(screen) + '\n';
}

std::string draw_help(const TopState& state, const Screen& screen) {
    Canvas canvas(above_bottom(screen), state.scrolled);
    for (const HelpEntry& entry : help_entries)
        canvas.add(Line().add(pad_right(entry.keys, 13, screen), Style::accent).add(entry.text));
    return canvas.text();
}

/// Draws a title and a list, of which one row is picked.
std::string draw_list(const std::string& title, const std::vector<std::string>& rows, int picked,
                      const Screen& screen) {
    Canvas canvas(above_bottom(screen));
    canvas.add(title, Style::dim);
    const auto chosen = static_cast<std::size_t>(picked);
    const auto page = static_cast<std::size_t>(std::max(0, canvas.rows_left()));
    const std::size_t first = first_row(chosen, rows.size(), page);
    for (std::size_t i = first; i < std::min(rows.size(), first + page); ++i)
        canvas.add(Line().add((i == chosen ? "> " : "  ") + rows[i]), i == chosen);
    return canvas.text();
}

std::string draw_parameters(const TopInput& input, const TopState& state, const Screen& screen) {
    std::vector<std::string> rows;
    for (const Dimension& dimension : input.study.space)
        rows.push_back((state.hidden.contains(dimension.name) ? "[ ] " : "[x] ") + printable(dimension.name));
    return draw_list("Parameters with a column, as far as the screen is wide enough:", rows, state.picked, screen);
}

std::string draw_studies(const TopInput& input, const TopState& state, const Screen& screen) {
    std::vector<std::string> rows;
    for (const std::string& name : input.studies)
        rows.push_back(printable(name) + (name == input.study.name ? "  (shown)" : ""));
    return draw_list("Studies, the one changed last first:", rows, state.picked, screen);
}

std::string draw_log(const TopInput& input, const TopState& state, const Screen& screen) {
    Canvas canvas(above_bottom(screen));
    const auto& lines = input.files.log_lines;
    canvas.add(
        Line()
            .add("trial " + std::to_string(state.chosen), Style::strong)
            .add("  " + (input.files.log.empty() ? "has written nothing" : printable(input.files.log)), Style::dim));
    const auto page = static_cast<std::size_t>(std::max(0, canvas.rows_left()));
    const std::size_t end = lines.size() - std::min(lines.size(), static_cast<std::size_t>(state.scrolled));
    for (std::size_t i = end - std::min(end, page); i < end; ++i) canvas.add(printable(lines[i]));
    return canvas.text();
}

/// Returns the curve of a trial: from the record if that has all steps, otherwise as it was read.
Curve whole_curve_of(const TopInput& input, std::int64_t number) {
    if (!is_known(input, number)) return {};
    const TrialRecord& trial = input.record.trial(number);
    const auto known = trial.thinned ? input.curves.find(number) : input.curves.end();
    return known == input.curves.end() ? curve_of(trial, input.study.objective.metric) : known->second;
}

Rival rival_for_chart(const TopInput& input, const TopState& state) {
    const std::int64_t number = rival_of(input, state);
    return {number, whole_curve_of(input, number)};
}

/// Returns all lines of the comparison, or a line that says that there is nothing to compare with.
std::string comparison_text(const TopInput& input, const TopState& state, const Screen& screen) {
    const std::int64_t rival = rival_of(input, state);
    if (rival == 0) return "This is the best trial. Mark another one with space in the table to compare it.\n";
    return draw_comparison(input.study, input.record.trial(state.chosen), input.record.trial(rival),
                           whole_curve_of(input, state.chosen), whole_curve_of(input, rival), screen);
}

std::int64_t lines_in(std::string_view text) { return std::count(text.begin(), text.end(), '\n'); }

std::string draw_comparison_page(const TopInput& input, const TopState& state, const Screen& screen) {
    const std::string all = comparison_text(input, state, screen);
    std::size_t from = 0;
    for (int i = 0; i < state.scrolled && from < all.size(); ++i) from = all.find('\n', from) + 1;
    std::size_t end = from;
    for (int i = 0; i < above_bottom(screen).height && end < all.size(); ++i) end = all.find('\n', end) + 1;
    return all.substr(from, end - from);
}

std::string draw_page(const TopInput& input, const TopState& state, const Screen& screen) {
    switch (state.page) {
        case TopPage::trial: {
            const Rival rival = rival_for_chart(input, state);
            return draw_trial(input.study, input.record.trial(state.chosen), input.files, above_bottom(screen),
                              state.scrolled, &rival);
        }
        case TopPage::log:
            return draw_log(input, state, screen);
        case TopPage::comparison:
            return draw_comparison_page(input, state, screen);
        case TopPage::parameters:
            return draw_parameters(input, state, screen);
        case TopPage::studies:
            return draw_studies(input, state, screen);
        case TopPage::help:
            return draw_help(state, screen);
        case TopPage::table:
            break;
    }
    return {};
}

}  // namespace

void settle(TopState& state, const TopInput& input, const Screen& screen) {
    const bool needs_trial =
        state.page == TopPage::trial || state.page == TopPage::log || state.page == TopPage::comparison;
    if (needs_trial && !is_known(input, state.chosen)) state.page = TopPage::table;
    std::int64_t lines = 0;
    if (state.page == TopPage::trial) {
        const Rival rival = rival_for_chart(input, state);
        lines = trial_lines(input.study, input.record.trial(state.chosen), input.files, screen, &rival);
    }
    if (state.page == TopPage::comparison) lines = lines_in(comparison_text(input, state, screen));
    if (state.page == TopPage::log) lines = 1 + static_cast<std::int64_t>(input.files.log_lines.size());
    if (state.page == TopPage::help) lines = static_cast<std::int64_t>(help_entries.size());
    lines -= above_bottom(screen).height;
    state.scrolled = static_cast<int>(std::clamp<std::int64_t>(lines, 0, state.scrolled));
    const std::size_t rows = state.page == TopPage::studies ? input.studies.size() : input.study.space.size();
    state.picked = std::clamp(state.picked, 0, std::max(0, static_cast<int>(rows) - 1));
}

std::string draw_top(const TopInput& input, const TopState& state, Screen screen) {
    const bool all = screen.height <= 0;
    if (!all && state.page != TopPage::table)
        return with_bottom(draw_page(input, state, screen), bottom_line(input, state, "", screen), screen);
    const Trials best = best_of(input.study, input.record);
    TopLayout layout = layout_of(input, state, best, screen, true);
    for (std::size_t i = layout.first; i < layout.end(); ++i) {
        const TrialRecord& trial = *layout.rows[i];
        const bool chosen = !all && i == layout.chosen;
        const bool leads = std::find(best.begin(), best.end(), &trial) != best.end();
        layout.canvas.add(row_line(trial, layout.columns, leads && !all, !all && trial.number == state.marked, chosen,
                                   predicted_end(input.moment, trial), screen),
                          chosen);
    }
    if (all) return layout.canvas.text();
    if (layout.rows.empty() && layout.page > 0 && !input.record.trials.empty())
        layout.canvas.add("No trial matches the filter.", Style::notice);
    return with_bottom(layout.canvas.text(), bottom_line(input, state, position_text(layout, input.record), screen),
                       screen);
}

std::vector<std::int64_t> shown_trials(const TopInput& input, const TopState& state, const Screen& screen) {
    std::vector<std::int64_t> numbers;
    if (state.page == TopPage::trial || state.page == TopPage::comparison)
        if (const std::int64_t rival = rival_of(input, state); rival != 0) numbers.push_back(rival);
    if (state.page != TopPage::table) return numbers;
    const Trials best = best_of(input.study, input.record);
    const TopLayout layout = layout_of(input, state, best, screen, false);
    for (std::size_t i = layout.first; i < layout.end(); ++i) numbers.push_back(layout.rows[i]->number);
    return numbers;
}

}  // namespace hpo::view
