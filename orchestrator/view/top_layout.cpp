#include "orchestrator/view/top_layout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hpo/printable.hpp"
#include "hpo/standing.hpp"
#include "hpo/text.hpp"

namespace hpo::view {
namespace {

/// The filter that applies: the one being typed as soon as it can be parsed, otherwise the accepted one.
TrialFilter filter_of(const TopInput& input, const TopState& state) {
    if (state.typing)
        if (auto typed = parse_filter(*state.typing, input.study, input.record)) return *std::move(typed);
    auto accepted = parse_filter(state.filter, input.study, input.record);
    return accepted ? *std::move(accepted) : TrialFilter{};
}

bool all_failed(const StudyRecord& record) {
    return !record.trials.empty() &&
           std::all_of(record.trials.begin(), record.trials.end(), [](const TrialRecord& one) {
               return one.state == TrialState::failed || one.state == TrialState::diverged;
           });
}

/// How the last session ended: "finished", "killed".
std::string_view ended_as(const StudyRecord& record) {
    if (record.held) return "killed";
    switch (record.end) {
        case SessionEnd::finished:
            return all_failed(record) ? "failed" : "finished";
        case SessionEnd::out_of_time:
            return "out of time";
        case SessionEnd::interrupted:
        case SessionEnd::at_limit:
            return "interrupted";
        case SessionEnd::failed:
            return "failed";
        case SessionEnd::none:
            break;
    }
    return "not running";
}

/// Why the last session ended, in one line; empty while one runs, and where nobody has stored it.
std::string why_ended(const TopInput& input) {
    if (input.moment.held || input.record.held) return {};
    return printable_line(input.record.end_reason.substr(0, input.record.end_reason.find('\n')));
}

/// Returns true if `rest` fits behind the line, two blanks before it.
bool fits_behind(const Line& line, const std::string& rest, const Screen& screen) {
    return screen.width <= 0 || line.width() + 2 + columns(rest) <= screen.width;
}

Line state_line(const TopInput& input, const Screen& screen) {
    const auto& [study, record, moment, curves, files, studies, left] = input;
    Line line;
    line.add(study.name, Style::strong).add("  ");
    if (moment.held)
        line.add("running", Style::good);
    else
        line.add(ended_as(record), ended_as(record) == "failed" ? Style::bad : Style::dim);
    line.add("  " + count_text(study, record));
    line.add("  " + duration_text(moment.seconds));
    if (!moment.held) return line;
    if (!left.empty()) line.add(", ").add(left);
    if (const auto speed = total_speed(study, record); !speed.empty() && fits_behind(line, speed, screen))
        line.add("  " + speed);
    return line;
}

Line best_line_of(const TopInput& input, const Trials& best, const Screen& screen) {
    Line line;
    if (!best.empty() && !input.study.objective.further.empty()) {
        line.add(front_text(input.study, input.record) + "   ");
    } else if (!best.empty()) {
        line.add("best ").add(short_number(*best.front()->value), Style::strong);
        line.add(" " + input.study.objective.metric + ", trial " + std::to_string(best.front()->number));
        if (const std::string seeds = seeds_text(*best.front()); !seeds.empty()) line.add(", " + seeds);
        line.add("   ");
    }
    if (screen.width == 0 || screen.width - line.width() > 24) line.add(states_text(input.record), Style::dim);
    return line;
}

constexpr int history_width = 12;
constexpr std::size_t bins = 6;

/// Returns the values of the trials that may be best, as losses (smaller is better), in the order of the trials.
std::vector<std::pair<const TrialRecord*, double>> losses_of(const Study& study, const StudyRecord& record) {
    const double sign = study.objective.direction == Direction::maximize ? -1 : 1;
    std::vector<std::pair<const TrialRecord*, double>> losses;
    for (const TrialRecord& trial : record.trials)
        if (may_be_best(trial, study.objective)) losses.emplace_back(&trial, sign * *trial.value);
    return losses;
}

/// Returns the bin of a parameter's value among equal parts of its range, or among its choices.
std::optional<std::size_t> bin_of(const Dimension& dimension, const TrialRecord& trial, std::size_t count) {
    const auto found = trial.params.find(dimension.name);
    if (found == trial.params.end()) return std::nullopt;
    if (dimension.kind == Kind::categorical) {
        const auto choice = std::find(dimension.choices.begin(), dimension.choices.end(), found->second);
        if (choice == dimension.choices.end()) return std::nullopt;
        return static_cast<std::size_t>(choice - dimension.choices.begin());
    }
    double value = 0, low = dimension.low, high = dimension.high;
    if (const auto* integer = std::get_if<std::int64_t>(&found->second))
        value = static_cast<double>(*integer);
    else if (const auto* real = std::get_if<double>(&found->second))
        value = *real;
    else
        return std::nullopt;
    if (dimension.log) value = std::log(value), low = std::log(low), high = std::log(high);
    if (!(high > low) || !std::isfinite(value)) return std::nullopt;
    const double share = std::clamp((value - low) / (high - low), 0.0, 1.0);
    return std::min(count - 1, static_cast<std::size_t>(share * static_cast<double>(count)));
}

/// Returns a picture of the best value in each part of a parameter's range, the higher the better, with blanks where no
/// trial lies; an empty text if fewer than two parts have trials.
std::string value_by_parameter(const Dimension& dimension,
                               const std::vector<std::pair<const TrialRecord*, double>>& losses, bool utf8) {
    const std::size_t count = dimension.kind == Kind::categorical ? dimension.choices.size() : bins;
    if (count > 12) return {};
    std::vector<double> least(count, std::numeric_limits<double>::infinity());
    for (const auto& [trial, loss] : losses)
        if (const auto bin = bin_of(dimension, *trial, count)) least[*bin] = std::min(least[*bin], loss);
    std::vector<double> heights;
    for (const double loss : least)
        if (std::isfinite(loss)) heights.push_back(-loss);
    if (heights.size() < 2) return {};
    // Each character is drawn alone, since blanks would be part of the scale.
    const auto [low, high] = std::minmax_element(heights.begin(), heights.end());
    std::string text;
    for (const double loss : least) {
        const std::vector<double> scale{*low, *high, -loss};
        if (!std::isfinite(loss)) {
            text += ' ';
            continue;
        }
        const std::string drawn = sparkline(scale, 3, utf8);
        text += drawn.substr(utf8 ? drawn.size() - 3 : drawn.size() - 1);
    }
    return text;
}

/// Returns true if there are three values at least, of one objective.
bool has_history(const TopInput& input) {
    if (!input.study.objective.further.empty()) return false;
    int values = 0;
    for (const TrialRecord& trial : input.record.trials)
        if (may_be_best(trial, input.study.objective) && ++values == 3) return true;
    return false;
}

/// Draws the best value after each trial, and the best value by parameter, as many as fit.
Line history_line(const TopInput& input, const Screen& screen) {
    Line line;
    const auto losses = losses_of(input.study, input.record);
    const double sign = input.study.objective.direction == Direction::maximize ? -1 : 1;
    std::vector<double> so_far;
    so_far.reserve(losses.size());
    for (const auto& [trial, loss] : losses)
        so_far.push_back(so_far.empty() ? sign * loss : sign * std::min(sign * so_far.back(), loss));
    line.add("best so far ", Style::dim).add(compact_number(so_far.front()) + " ");
    line.add(sparkline(so_far, history_width, screen.utf8), Style::accent);
    line.add(" " + compact_number(so_far.back()));
    bool any = false;
    for (const Dimension& dimension : input.study.space) {
        const std::string name = printable(dimension.name.substr(dimension.name.rfind('.') + 1));
        const std::string picture = value_by_parameter(dimension, losses, screen.utf8);
        if (picture.empty()) continue;
        if (line.width() + 4 + columns(name) + columns(picture) > screen.width) break;
        line.add((any ? "  " : "   by ") + name + " ", Style::dim).add(picture, Style::accent);
        any = true;
    }
    return line;
}

constexpr int least_height_for_history = 16;

void add_head(Canvas& canvas, const TopInput& input, const Trials& best, const Screen& screen, bool with_history,
              bool drawn) {
    Line state = state_line(input, screen);
    const std::string why = why_ended(input);
    const bool beside = fits_behind(state, why, screen);
    if (!why.empty() && beside) state.add("  " + why, Style::dim);
    canvas.add(state);
    if (!why.empty() && !beside) canvas.add(why, Style::notice);
    canvas.add(best_line_of(input, best, screen));
    if (with_history && has_history(input)) canvas.add(drawn ? history_line(input, screen) : Line());
    add_pools(canvas, input.moment.pools, rows_for_pools(screen), screen);
    if (!input.moment.waits.empty()) canvas.add("waiting: " + printable(input.moment.waits), Style::notice);
}

std::size_t index_of(const Trials& trials, std::int64_t number) {
    const auto found = std::find_if(trials.begin(), trials.end(), [&](auto* trial) { return trial->number == number; });
    return found == trials.end() ? 0 : static_cast<std::size_t>(found - trials.begin());
}

}  // namespace

Screen above_bottom(Screen screen) {
    screen.height = std::max(1, screen.height - 1);
    return screen;
}

std::size_t first_row(std::size_t chosen, std::size_t count, std::size_t page) {
    if (count <= page || chosen < page / 2) return 0;
    return std::min(chosen - page / 2, count - page);
}

bool is_known(const TopInput& input, std::int64_t trial) {
    return trial >= 1 && trial <= static_cast<std::int64_t>(input.record.trials.size());
}

std::int64_t rival_of(const TopInput& input, const TopState& state) {
    if (state.marked != state.chosen && is_known(input, state.marked)) return state.marked;
    const Trials best = best_of(input.study, input.record);
    if (!best.empty() && best.front()->number != state.chosen) return best.front()->number;
    return 0;
}

TopLayout layout_of(const TopInput& input, const TopState& state, const Trials& best, Screen screen, bool drawn) {
    const bool all = screen.height <= 0;
    const bool with_history = screen.height >= least_height_for_history;
    screen.height = all ? std::numeric_limits<int>::max() : above_bottom(screen).height;
    TopLayout layout{Canvas(screen), 0, best, {}, {}};
    layout.rows = ordered(input.record, input.study.objective, state.order, input.moment.held, filter_of(input, state));
    add_head(layout.canvas, input, best, screen, with_history, drawn);
    layout.titles = screen.height - layout.canvas.rows_left();
    layout.columns =
        fitting_columns(input.study, input.record, state.columns, state.hidden, best, input.curves, screen);
    layout.canvas.add(head_line(layout.columns, state.order, input.study.objective, screen));
    layout.page = static_cast<std::size_t>(std::max(0, layout.canvas.rows_left()));
    layout.chosen = index_of(layout.rows, state.chosen);
    layout.first = all ? 0 : first_row(layout.chosen, layout.rows.size(), layout.page);
    return layout;
}

}  // namespace hpo::view
