#include <algorithm>
#include <utility>

#include "orchestrator/view/top_layout.hpp"

namespace hpo::view {
namespace {

constexpr int scroll_to_end = 1'000'000'000;

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
        case KeyCode::mouse:
            return key.mouse == Key::Mouse::wheel_up ? -3 : key.mouse == Key::Mouse::wheel_down ? 3 : 0;
        default:
            return 0;
    }
}

/// Moves in a list of `count` rows. Returns true if the key moves.
bool pick(TopState& state, std::int64_t by, std::size_t count) {
    if (by == 0) return false;
    const auto last = std::max<std::int64_t>(0, static_cast<std::int64_t>(count) - 1);
    state.picked = static_cast<int>(std::clamp<std::int64_t>(state.picked + by, 0, last));
    return true;
}

bool is_character(const Key& key, std::string_view characters) {
    return key.code == KeyCode::character && characters.find(key.character) != std::string_view::npos;
}

void choose_parameters(TopState& state, const Key& key, const TopInput& input, int page) {
    const auto& space = input.study.space;
    if (pick(state, movement(key, page), space.size())) return;
    if (key.code == KeyCode::escape || key.code == KeyCode::enter || is_character(key, "qo")) {
        state.page = TopPage::table;
    } else if (is_character(key, "a")) {
        state.hidden.clear();
    } else if (is_character(key, " ") && !space.empty()) {
        const std::string& name = space[static_cast<std::size_t>(state.picked)].name;
        if (state.hidden.erase(name) == 0) state.hidden.insert(name);
    }
}

TopRequest choose_study(TopState& state, const Key& key, const TopInput& input, int page) {
    if (pick(state, movement(key, page), input.studies.size())) return TopRequest::none;
    if (key.code == KeyCode::escape || is_character(key, "qw")) state.page = TopPage::table;
    if (key.code != KeyCode::enter || input.studies.empty()) return TopRequest::none;
    state.page = TopPage::table;
    return TopRequest::open_study;
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

void ask_to_stop_chosen(TopState& state, const TopInput& input) {
    if (!is_known(input, state.chosen)) return;
    if (is_final(input.record.trial(state.chosen).state))
        state.message = "trial " + std::to_string(state.chosen) + " has already ended";
    else
        state.question = TopQuestion::stop_trial;
}

void scroll(TopState& state, std::int64_t lines) {
    state.scrolled = static_cast<int>(std::clamp<std::int64_t>(state.scrolled + lines, 0, scroll_to_end));
}

/// Chooses the next or the previous trial in the order of the table.
void choose_neighbour(TopState& state, const TopInput& input, const Screen& screen, int by) {
    const Trials best = best_of(input.study, input.record);
    const TopLayout layout = layout_of(input, state, best, screen, false);
    if (layout.rows.empty()) return;
    const auto last = static_cast<std::int64_t>(layout.rows.size()) - 1;
    const auto at = std::clamp<std::int64_t>(static_cast<std::int64_t>(layout.chosen) + by, 0, last);
    state.chosen = layout.rows[static_cast<std::size_t>(at)]->number;
}

/// The keys of the pages about a trial.
void on_trial_key(TopState& state, const Key& key, const TopInput& input, const Screen& screen) {
    // A log is shown from its end.
    const int down = state.page == TopPage::log ? -1 : 1;
    if (const auto lines = movement(key, std::max(1, screen.height / 2)); lines != 0)
        return scroll(state, down * lines);
    if (state.page == TopPage::trial) state.opened_from = TopPage::trial;
    const auto show = [&](TopPage page) { state.page = page, state.scrolled = 0; };
    if (key.code == KeyCode::escape || is_character(key, "q"))
        show(state.page == TopPage::trial ? TopPage::table : state.opened_from);
    else if (is_character(key, "n"))
        choose_neighbour(state, input, screen, 1);
    else if (is_character(key, "p"))
        choose_neighbour(state, input, screen, -1);
    else if (is_character(key, "l"))
        show(TopPage::log);
    else if (is_character(key, "c"))
        show(TopPage::comparison);
    else if (is_character(key, "x"))
        ask_to_stop_chosen(state, input);
}

/// A click on a row chooses its trial, and another one opens it. A click on a title sorts by that column, and another
/// one reverses the order.
void on_click(TopState& state, const Key& key, const TopLayout& layout) {
    if (key.row == layout.titles) {
        int left = 0;
        for (const Column& column : layout.columns) {
            if (key.column < left + column.width + 1) {
                if (!column.field) return;
                state.order = {*column.field, state.order.field == *column.field && !state.order.reversed};
                return;
            }
            left += column.width + 1;
        }
        return;
    }
    const int row = key.row - layout.titles - 1;
    if (row < 0 || layout.first + static_cast<std::size_t>(row) >= layout.end()) return;
    const std::int64_t number = layout.rows[layout.first + static_cast<std::size_t>(row)]->number;
    if (number == state.chosen) state.page = TopPage::trial, state.scrolled = 0;
    state.chosen = number;
}

TopRequest on_table_key(TopState& state, const Key& key, const TopInput& input, const Screen& screen) {
    const Trials best = best_of(input.study, input.record);
    const TopLayout layout = layout_of(input, state, best, screen, false);
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
        case KeyCode::mouse:
            on_click(state, key, layout);
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
        case ' ':
            choose(at);
            state.marked = state.marked == state.chosen ? 0 : state.chosen;
            break;
        case 'c':
        case 'l':
            choose(at);
            if (count == 0) break;
            state.page = key.character == 'c' ? TopPage::comparison : TopPage::log;
            state.opened_from = TopPage::table;
            state.scrolled = 0;
            break;
        case 'w':
            state.page = TopPage::studies, state.picked = 0;
            break;
        case 'x':
            choose(at);
            if (count > 0) ask_to_stop_chosen(state, input);
            break;
        case 'X':
            if (input.moment.held)
                state.question = TopQuestion::stop_study;
            else
                state.message = "no process runs this study";
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
    if (const TopQuestion question = std::exchange(state.question, TopQuestion::none); question != TopQuestion::none) {
        if (!is_character(key, "y")) return TopRequest::none;
        return question == TopQuestion::stop_trial ? TopRequest::stop_chosen : TopRequest::stop_study;
    }
    if (state.typing) return type_filter(state, key, input), TopRequest::none;
    const int page = std::max(1, screen.height / 2);
    switch (state.page) {
        case TopPage::trial:
        case TopPage::log:
        case TopPage::comparison:
            return on_trial_key(state, key, input, screen), TopRequest::none;
        case TopPage::parameters:
            return choose_parameters(state, key, input, page), TopRequest::none;
        case TopPage::studies:
            return choose_study(state, key, input, page);
        case TopPage::help:
            if (const auto lines = movement(key, page); lines != 0)
                scroll(state, lines);
            else if (key.code != KeyCode::mouse)
                state.page = TopPage::table;
            return TopRequest::none;
        case TopPage::table:
            return on_table_key(state, key, input, screen);
    }
    return TopRequest::none;
}

}  // namespace hpo::view
