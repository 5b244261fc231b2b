#include "orchestrator/view/top.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "hpo/printable.hpp"
#include "hpo/standing.hpp"
#include "hpo/units.hpp"
#include "orchestrator/view/time_left.hpp"

namespace hpo::view {
namespace {

constexpr int scroll_to_end = 1'000'000'000;

/// The filter that applies: the one being typed as soon as it can be parsed, otherwise the accepted one.
TrialFilter filter_of(const TopInput& input, const TopState& state) {
    if (state.typing)
        if (auto typed = parse_filter(*state.typing, input.study, input.record)) return *std::move(typed);
    auto accepted = parse_filter(state.filter, input.study, input.record);
    return accepted ? *std::move(accepted) : TrialFilter{};
}

Trials rows_of(const TopInput& input, const TopState& state) {
    return ordered(input.record, input.study.objective, state.order, input.moment.held, filter_of(input, state));
}

void add_head(Canvas& canvas, const TopInput& input, const Trials& best, const Screen& screen) {
    const auto& [study, record, moment, curves, files] = input;
    Line line;
    line.add(study.name, Style::strong);
    line.add(moment.held ? "  running" : "  not running", moment.held ? Style::good : Style::dim);
    line.add("  " + count_text(study, record));
    line.add("  " + duration_text(moment.seconds));
    if (const auto left = time_left(study, record, moment); left && moment.held) line.add(", " + time_left_text(*left));
    if (const auto speed = total_speed(study, record);
        !speed.empty() && (screen.width <= 0 || line.width() + 2 + columns(speed) <= screen.width))
        line.add("  " + speed);
    canvas.add(line);
    Line second;
    if (!best.empty() && !study.objective.further.empty()) {
        second.add(front_text(study, record) + "   ");
    } else if (!best.empty()) {
        second.add("best ").add(short_number(*best.front()->value), Style::strong);
        second.add(" " + study.objective.metric + ", trial " + std::to_string(best.front()->number));
        if (const std::string seeds = seeds_text(*best.front()); !seeds.empty()) second.add(", " + seeds);
        second.add("   ");
    }
    if (screen.width == 0 || screen.width - second.width() > 24) second.add(states_text(record), Style::dim);
    canvas.add(second);
    add_pools(canvas, moment.pools, rows_for_pools(screen), screen);
    if (!moment.waits.empty()) canvas.add("waiting: " + printable(moment.waits), Style::notice);
}

/// Returns the first row to show, so that the chosen one is in the middle of the page if possible.
std::size_t first_row(std::size_t chosen, std::size_t count, std::size_t page) {
    if (count <= page || chosen < page / 2) return 0;
    return std::min(chosen - page / 2, count - page);
}

std::size_t index_of(const Trials& trials, std::int64_t number) {
    const auto found = std::find_if(trials.begin(), trials.end(), [&](auto* trial) { return trial->number == number; });
    return found == trials.end() ? 0 : static_cast<std::size_t>(found - trials.begin());
}

/// The screen without its last line, which has the keys.
Screen above_bottom(Screen screen) {
    screen.height = std::max(1, screen.height - 1);
    return screen;
}

/// The table as laid out on a screen: what is drawn so far, and the rows below.
struct Layout {
    Canvas canvas;  ///< with the head and the titles
    Trials best, rows;
    std::vector<Column> columns;
    std::size_t first = 0, page = 0, chosen = 0;

    [[nodiscard]] std::size_t end() const { return std::min(rows.size(), first + page); }
};

/// `best` and `curves` must stay where they are while the result is used.
Layout layout_of(const TopInput& input, const TopState& state, const Trials& best, Screen screen) {
    const bool all = screen.height <= 0;
    screen.height = all ? std::numeric_limits<int>::max() : above_bottom(screen).height;
    Layout layout{Canvas(screen), best, rows_of(input, state), {}, 0, 0, 0};
    add_head(layout.canvas, input, best, screen);
    layout.columns =
        fitting_columns(input.study, input.record, state.columns, state.hidden, best, input.curves, screen);
    layout.canvas.add(head_line(layout.columns, state.order, input.study.objective, screen));
    layout.page = static_cast<std::size_t>(std::max(0, layout.canvas.rows_left()));
    layout.chosen = index_of(layout.rows, state.chosen);
    layout.first = all ? 0 : first_row(layout.chosen, layout.rows.size(), layout.page);
    return layout;
}

/// Returns "3/1500", and with a filter "3/12 of 1500".
std::string position_text(const Layout& layout, const StudyRecord& record) {
    const auto count = layout.rows.size();
    std::string text = std::to_string(count == 0 ? 0 : layout.chosen + 1) + "/" + std::to_string(count);
    if (count < record.trials.size()) text += " of " + std::to_string(record.trials.size());
    return text;
}

/// Draws what the keys do, or what is asked or typed, and `right` at the right end.
Line bottom_line(const TopInput& input, const TopState& state, const std::string& right, const Screen& screen) {
    Line line;
    if (state.asking) {
        return line.add("Stop trial " + std::to_string(state.chosen) + "? y: yes, any other key: no", Style::notice);
    }
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
        const std::string arrows = screen.utf8 ? "↑↓" : "j k";
        switch (state.page) {
            case TopPage::trial:
                line.add(arrows + " scroll  esc back  x stop  q quit", Style::dim);
                break;
            case TopPage::parameters:
                line.add(arrows + " select  space shows or hides  a all  esc back", Style::dim);
                break;
            case TopPage::help:
                line.add("any key: back", Style::dim);
                break;
            case TopPage::table:
                if (!state.filter.empty()) line.add("/ " + printable(state.filter) + "  ", Style::accent);
                line.add("? help  enter details  / filter  s sort  r reverse  tab columns  q quit", Style::dim);
                break;
        }
    }
    if (right.empty()) return line;
    // The position stays visible if the text before it is too long.
    const int room = screen.width - columns(right) - 1;
    if (line.width() <= room) return line.to(room + 1).add(right);
    Screen left = screen;
    left.width = room;
    return Line().add(line.render({left.width, 1, false, screen.utf8}), Style::dim).to(room + 1).add(right);
}

struct HelpEntry {
    std::string_view keys, text;
};
constexpr std::array help_entries{
    HelpEntry{"arrows, j k", "select a trial; page keys, g and G move further"},
    HelpEntry{"enter", "all about the trial: curve, parameters, memory, steps"},
    HelpEntry{"s  S", "sort by the next or previous column; r reverses"},
    HelpEntry{"b", "best first again"},
    HelpEntry{"/", "filter: NAME=VALUE, != < <= > >= or ~ (contains), or a word alone;"},
    HelpEntry{"", "terms are separated by blanks: optimizer=adamw value<0.2 complete"},
    HelpEntry{"", "names are parameters, metrics, trial, state, step, value, it/s,"},
    HelpEntry{"", "time, memory, device and reason; esc shows all trials again"},
    HelpEntry{"tab", "parameters, or speed, time, memory and device"},
    HelpEntry{"o", "choose the parameters that are shown"},
    HelpEntry{"x", "stop the trial, after a question"},
    HelpEntry{"q", "back, or quit"},
    HelpEntry{"", ""},
    HelpEntry{"*", "the best trial, or one of the Pareto front"},
    HelpEntry{"CURVE", "the objective's metric at the steps of the trial"},
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

std::string draw_parameters(const TopInput& input, const TopState& state, const Screen& screen) {
    Canvas canvas(above_bottom(screen));
    canvas.add("Parameters with a column, as far as the screen is wide enough:", Style::dim);
    const auto count = input.study.space.size();
    const auto page = static_cast<std::size_t>(std::max(0, canvas.rows_left()));
    const std::size_t first = first_row(static_cast<std::size_t>(state.picked), count, page);
    for (std::size_t i = first; i < std::min(count, first + page); ++i) {
        const std::string& name = input.study.space[i].name;
        const bool picked = i == static_cast<std::size_t>(state.picked);
        canvas.add(Line().add((picked ? "> " : "  ") + std::string(state.hidden.contains(name) ? "[ ] " : "[x] ") +
                              printable(name)),
                   picked);
    }
    return canvas.text();
}

/// Removes the last character of UTF-8 text.
void remove_last(std::string& text) {
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
    if (!text.empty()) text.pop_back();
}

void type_filter(TopState& state, const Key& key, const TopInput& input) {
    std::string& text = *state.typing;
    if (key.code == KeyCode::escape) {
        state.typing.reset();
    } else if (key.code == KeyCode::enter) {
        if (!parse_filter(text, input.study, input.record)) return;  // the line says why
        state.filter = text;
        state.typing.reset();
    } else if (key.code == KeyCode::character) {
        if (key.character == 0x7f || key.character == '\b')
            text.empty() ? state.typing.reset() : remove_last(text);
        else if (key.character == 'U' - '@')
            text.clear();
        else if (static_cast<unsigned char>(key.character) >= ' ')
            text += key.character;
    }
}

void choose_parameters(TopState& state, const Key& key, const TopInput& input) {
    const auto& space = input.study.space;
    const int last = static_cast<int>(space.size()) - 1;
    const auto move = [&](int by) { state.picked = std::clamp(state.picked + by, 0, std::max(0, last)); };
    switch (key.code) {
        case KeyCode::up:
            return move(-1);
        case KeyCode::down:
            return move(1);
        case KeyCode::home:
            return move(-last - 1);
        case KeyCode::end:
            return move(last + 1);
        case KeyCode::escape:
        case KeyCode::enter:
            state.page = TopPage::table;
            return;
        case KeyCode::character:
            break;
        default:
            return;
    }
    switch (key.character) {
        case 'k':
            return move(-1);
        case 'j':
            return move(1);
        case 'q':
        case 'o':
            state.page = TopPage::table;
            return;
        case 'a':
            state.hidden.clear();
            return;
        case ' ':
            if (last < 0) return;
            if (const std::string& name = space[static_cast<std::size_t>(state.picked)].name;
                state.hidden.erase(name) == 0)
                state.hidden.insert(name);
            return;
        default:
            return;
    }
}

/// Sorts by the next column that can be sorted by, or by the previous one.
void sort_by_next(TopState& state, const std::vector<Column>& shown, int by) {
    std::vector<TrialField> fields;
    for (const Column& column : shown)
        if (column.field) fields.push_back(*column.field);
    if (fields.empty()) return;
    const auto count = static_cast<std::ptrdiff_t>(fields.size());
    const auto found = std::find(fields.begin(), fields.end(), state.order.field);
    const auto at = found == fields.end() ? (by > 0 ? -1 : 0) : found - fields.begin();
    state.order = {fields[static_cast<std::size_t>((at + by + count) % count)], false};
}

bool is_known(const TopInput& input, std::int64_t trial) {
    return trial >= 1 && trial <= static_cast<std::int64_t>(input.record.trials.size());
}

void ask_to_stop_chosen(TopState& state, const TopInput& input) {
    if (!is_known(input, state.chosen)) return;
    if (is_final(input.record.trial(state.chosen).state))
        state.message = "trial " + std::to_string(state.chosen) + " has already ended";
    else
        state.asking = true;
}

/// Returns how far a key moves: in rows, or beyond the end. 0 for other keys.
std::int64_t movement(const Key& key, std::int64_t page) {
    switch (key.code) {
        case KeyCode::up:
            return -1;
        case KeyCode::down:
            return 1;
        case KeyCode::page_up:
            return -page;
        case KeyCode::page_down:
            return page;
        case KeyCode::home:
            return -scroll_to_end;
        case KeyCode::end:
            return scroll_to_end;
        case KeyCode::character:
            return key.character == 'k'   ? -1
                   : key.character == 'j' ? 1
                   : key.character == 'g' ? -scroll_to_end
                   : key.character == 'G' ? scroll_to_end
                                          : 0;
        default:
            return 0;
    }
}

void scroll(TopState& state, std::int64_t lines) {
    state.scrolled = static_cast<int>(std::clamp<std::int64_t>(state.scrolled + lines, 0, scroll_to_end));
}

void on_trial_key(TopState& state, const Key& key, const TopInput& input, const Screen& screen) {
    if (const auto lines = movement(key, std::max(1, screen.height / 2)); lines != 0) return scroll(state, lines);
    if (key.code == KeyCode::escape || (key.code == KeyCode::character && key.character == 'q'))
        state.page = TopPage::table;
    else if (key.code == KeyCode::character && key.character == 'x')
        ask_to_stop_chosen(state, input);
}

TopRequest on_table_key(TopState& state, const Key& key, const TopInput& input, const Screen& screen) {
    const Trials best = best_of(input.study, input.record);
    const Layout layout = layout_of(input, state, best, screen);
    const auto count = static_cast<std::int64_t>(layout.rows.size());
    const auto choose = [&](std::int64_t index) {
        if (count > 0)
            state.chosen = layout.rows[static_cast<std::size_t>(std::clamp<std::int64_t>(index, 0, count - 1))]->number;
    };
    const auto at = static_cast<std::int64_t>(layout.chosen);
    if (const auto by = movement(key, std::max<std::int64_t>(1, static_cast<std::int64_t>(layout.page) - 1)); by != 0) {
        choose(at + by);
        return TopRequest::none;
    }
    switch (key.code) {
        case KeyCode::enter:
            choose(at);
            if (count > 0) state.page = TopPage::trial, state.scrolled = 0;
            return TopRequest::none;
        case KeyCode::escape:
            state.filter.clear();
            return TopRequest::none;
        case KeyCode::tab:
            state.columns = state.columns == TopColumns::parameters ? TopColumns::resources : TopColumns::parameters;
            return TopRequest::none;
        case KeyCode::character:
            break;
        default:
            return TopRequest::none;
    }
    switch (key.character) {
        case 's':
            sort_by_next(state, layout.columns, 1);
            break;
        case 'S':
            sort_by_next(state, layout.columns, -1);
            break;
        case 'r':
            state.order.reversed = !state.order.reversed;
            break;
        case 'b':
            state.order = {};
            choose(0);
            break;
        case '/':
            state.typing = state.filter;
            break;
        case 'o':
            state.page = TopPage::parameters, state.picked = 0;
            break;
        case '?':
        case 'h':
            state.page = TopPage::help, state.scrolled = 0;
            break;
        case 'x':
            choose(at);
            if (count > 0) ask_to_stop_chosen(state, input);
            break;
        case 'q':
            return TopRequest::quit;
        default:
            break;
    }
    return TopRequest::none;
}

}  // namespace

TopRequest on_key(TopState& state, const Key& key, const TopInput& input, const Screen& screen) {
    if (key.code == KeyCode::none) return TopRequest::none;
    if (key.code == KeyCode::closed) return TopRequest::quit;
    state.message.clear();
    if (state.asking) {
        state.asking = false;
        return key.code == KeyCode::character && key.character == 'y' ? TopRequest::stop_chosen : TopRequest::none;
    }
    if (state.typing) return type_filter(state, key, input), TopRequest::none;
    switch (state.page) {
        case TopPage::trial:
            return on_trial_key(state, key, input, screen), TopRequest::none;
        case TopPage::parameters:
            return choose_parameters(state, key, input), TopRequest::none;
        case TopPage::help:
            if (const auto lines = movement(key, std::max(1, screen.height / 2)); lines != 0)
                scroll(state, lines);
            else
                state.page = TopPage::table;
            return TopRequest::none;
        case TopPage::table:
            return on_table_key(state, key, input, screen);
    }
    return TopRequest::none;
}

void settle(TopState& state, const TopInput& input, const Screen& screen) {
    std::int64_t lines = 0;
    if (state.page == TopPage::trial && is_known(input, state.chosen))
        lines = trial_lines(input.study, input.record.trial(state.chosen), input.files, screen);
    if (state.page == TopPage::help) lines = static_cast<std::int64_t>(help_entries.size());
    lines -= above_bottom(screen).height;
    state.scrolled = static_cast<int>(std::clamp<std::int64_t>(lines, 0, state.scrolled));
}

std::string draw_top(const TopInput& input, const TopState& state, Screen screen) {
    const bool all = screen.height <= 0;
    if (!all) {
        if (state.page == TopPage::help)
            return with_bottom(draw_help(state, screen), bottom_line(input, state, "", screen), screen);
        if (state.page == TopPage::parameters)
            return with_bottom(draw_parameters(input, state, screen), bottom_line(input, state, "", screen), screen);
        if (state.page == TopPage::trial && is_known(input, state.chosen))
            return with_bottom(draw_trial(input.study, input.record.trial(state.chosen), input.files,
                                          above_bottom(screen), state.scrolled),
                               bottom_line(input, state, "", screen), screen);
    }
    const Trials best = best_of(input.study, input.record);
    Layout layout = layout_of(input, state, best, screen);
    for (std::size_t i = layout.first; i < layout.end(); ++i) {
        const TrialRecord& trial = *layout.rows[i];
        const bool chosen = !all && i == layout.chosen;
        const bool leads = std::find(best.begin(), best.end(), &trial) != best.end();
        layout.canvas.add(row_line(trial, layout.columns, leads && !all, chosen, screen), chosen);
    }
    if (all) return layout.canvas.text();
    if (layout.rows.empty() && layout.page > 0 && !input.record.trials.empty())
        layout.canvas.add("No trial matches the filter.", Style::notice);
    return with_bottom(layout.canvas.text(), bottom_line(input, state, position_text(layout, input.record), screen),
                       screen);
}

std::vector<std::int64_t> shown_trials(const TopInput& input, const TopState& state, const Screen& screen) {
    const Trials best = best_of(input.study, input.record);
    const Layout layout = layout_of(input, state, best, screen);
    std::vector<std::int64_t> numbers;
    for (std::size_t i = layout.first; i < layout.end(); ++i) numbers.push_back(layout.rows[i]->number);
    return numbers;
}

}  // namespace hpo::view
