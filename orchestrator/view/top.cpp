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

constexpr std::array<std::string_view, top_sorts> sort_names{"state", "trial", "value", "it/s", "loss", "memory"};

std::optional<double> speed_of(const TrialRecord& trial) {
    if (trial.curve.empty()) return std::nullopt;
    const Report& last = trial.curve.back();
    return trial.state == TrialState::running || !last.iterations_per_second_overall
               ? last.iterations_per_second
               : last.iterations_per_second_overall;
}

std::optional<double> last_of(const TrialRecord& trial, const std::string& metric) {
    if (trial.curve.empty()) return std::nullopt;
    const auto& metrics = trial.curve.back().metrics;
    const auto found = metrics.find(metric);
    return found == metrics.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> memory_of(const TrialRecord& trial) {
    if (trial.curve.empty() || !trial.curve.back().peak_bytes) return std::nullopt;
    return static_cast<double>(*trial.curve.back().peak_bytes);
}

/// Returns the position of the trial's group: running, paused, ended with a value that ranks it, other ended ones,
/// queued. Of a configuration's seeds the first is ranked, by their mean.
int group_of(const TrialRecord& trial, bool held) {
    if (trial.state == TrialState::running) return 0;
    if (trial.state == TrialState::paused && held) return 1;
    if (trial.state == TrialState::queued) return 4;
    const bool is_unranked = trial.state == TrialState::diverged || trial.state == TrialState::failed;
    return trial.value && !is_unranked && trial.repeat_of == 0 ? 2 : 3;
}

/// Returns a key for sorting within a group in ascending order. Values that are absent or not finite come last.
double sort_key(const TrialRecord& trial, const Objective& objective, TopSort sort, bool held) {
    const double sign = objective.direction == Direction::maximize ? -1 : 1;
    const auto or_last = [](std::optional<double> key, double factor) {
        return key && std::isfinite(*key) ? factor * *key : std::numeric_limits<double>::infinity();
    };
    switch (sort) {
        case TopSort::state:
            return group_of(trial, held) == 2 ? or_last(trial.value, sign) : 0;
        case TopSort::number:
            return 0;
        case TopSort::value:
            return or_last(trial.repeat_of == 0 ? trial.value : std::nullopt, sign);
        case TopSort::speed:
            return or_last(speed_of(trial), -1);
        case TopSort::loss:
            return or_last(last_of(trial, "loss"), 1);
        case TopSort::memory:
            return or_last(memory_of(trial), -1);
    }
    return 0;
}

std::string number_or_dash(const std::optional<double>& number) { return number ? short_number(*number) : "-"; }

/// Returns a size such as "93.0 MiB" in at most eight columns.
std::string short_bytes(double bytes) {
    const std::string text = bytes_text(bytes);
    const auto blank = text.find(' ');
    std::string digits = text.substr(0, std::min<std::size_t>(blank, 4));
    if (digits.ends_with('.')) digits.pop_back();
    return digits + text.substr(blank);
}

struct Column {
    std::string title;
    int width;
    bool right;
    int rank;  ///< on a narrow screen the columns of the highest rank are left out first
    std::function<std::string(const Study&, const TrialRecord&, const Screen&)> cell;
};

constexpr int trial_curve_width = 8;

using Trials = std::vector<const TrialRecord*>;

bool contains(const Trials& trials, const TrialRecord& trial) {
    return std::find(trials.begin(), trials.end(), &trial) != trials.end();
}

/// `best`: the best trial, or the Pareto front of a study with several objectives. Must outlive the columns.
std::vector<Column> all_columns(const Study& study, const Trials& best, int max_metric_width) {
    const auto metric_width = std::clamp(columns(study.objective.metric), 8, max_metric_width);
    const int step_width = std::max<int>(4, columns(progress_text(study, study.budget.epochs)));
    std::vector<Column> all{
        {"TRIAL", 5, true, 0,
         [](const Study&, const TrialRecord& t, const Screen&) { return std::to_string(t.number); }},
        {"STATE", 8, false, 0,
         [](const Study&, const TrialRecord& t, const Screen&) { return std::string(hpo::to_text(t.state)); }},
        {"STEP", step_width, true, 1,
         [](const Study& s, const TrialRecord& t, const Screen&) { return progress_text(s, t.steps()); }},
        {"IT/S", 6, true, 3,
         [](const Study&, const TrialRecord& t, const Screen&) { return number_or_dash(speed_of(t)); }},
        {"LOSS", 9, true, 4,
         [](const Study&, const TrialRecord& t, const Screen&) { return number_or_dash(last_of(t, "loss")); }},
        {"CURVE", trial_curve_width, false, 5,
         [](const Study&, const TrialRecord& t, const Screen& screen) {
             return sparkline(condensed_losses(t), trial_curve_width, screen.utf8);
         }},
        {study.objective.metric, metric_width, true, 2,
         [](const Study&, const TrialRecord& t, const Screen&) { return number_or_dash(t.value); }}};
    for (const std::string& metric : judged_metrics(study.objective))
        all.push_back({metric, std::clamp(columns(metric), 8, max_metric_width), true, 2,
                       [metric](const Study&, const TrialRecord& t, const Screen&) {
                           return number_or_dash(metric_that_counts(t, metric));
                       }});
    if (!study.objective.further.empty())
        all.push_back({"FRONT", 5, false, 2, [&best](const Study&, const TrialRecord& t, const Screen&) {
                           return std::string(contains(best, t) ? "yes" : "");
                       }});
    all.push_back({"MEMORY", 8, true, 6, [](const Study&, const TrialRecord& t, const Screen&) {
                       const auto memory = memory_of(t);
                       return memory ? short_bytes(*memory) : "-";
                   }});
    return all;
}

// Widths of the last column. With less than the minimum it is left out, with less than the title's width its title is
// written without blanks. The metric's column is only widened if the preferred width remains.
constexpr int min_reason_width = 12;
constexpr int reason_title_width = 15;
constexpr int preferred_reason_width = 50;
constexpr int scroll_to_end = 1'000'000'000;

/// Returns the columns that fit, in their order, without the last one.
std::vector<Column> fitting_columns(const Study& study, const Trials& best, const Screen& screen) {
    const int width = screen.width > 0 ? screen.width : std::numeric_limits<int>::max();
    auto all = all_columns(study, best, 10);
    const auto total = [&] {
        int sum = 0;
        for (const Column& column : all) sum += column.width + 1;
        return sum;
    };
    if (const int spare = width - total() - preferred_reason_width; spare > 0)
        all = all_columns(study, best, std::max(10, std::min(columns(study.objective.metric), 10 + spare)));
    while (total() > width && all.size() > 2)
        all.erase(
            std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; }));
    return all;
}

Line head_line(const std::vector<Column>& shown, bool reason, const Screen& screen) {
    Line line;
    for (const Column& column : shown)
        line.add((column.right ? pad_left(column.title, column.width, screen)
                               : pad_right(column.title, column.width, screen)) +
                     " ",
                 Style::dim);
    const bool spacious = screen.width == 0 || screen.width - line.width() >= reason_title_width;
    if (reason) line.add(spacious ? "DEVICE / REASON" : "DEVICE/REASON", Style::dim);
    return line;
}

/// Returns the device of a running trial, or the reason for another trial's state.
std::string device_or_reason(const TrialRecord& trial) {
    if (trial.state == TrialState::running) return printable(trial.where);
    if (trial.reason.empty() && trial.repeat_of != 0) return "another seed of trial " + std::to_string(trial.repeat_of);
    if (trial.reason.empty() && !trial.seeds.empty()) return seeds_text(trial);
    return (trial.rule.empty() ? "" : printable(trial.rule) + ": ") + printable_line(trial.reason);
}

Line trial_line(const Study& study, const TrialRecord& trial, const std::vector<Column>& shown, bool reason, bool best,
                const Screen& screen) {
    Line line;
    for (const Column& column : shown) {
        const std::string cell = column.cell(study, trial, screen);
        Style style = Style::plain;
        if (column.title == "STATE") style = state_style(trial.state);
        if (column.title == "CURVE") style = Style::accent;
        if (best && column.title == study.objective.metric) style = Style::good;
        line.add(column.right ? pad_left(cell, column.width, screen) : pad_right(cell, column.width, screen), style);
        line.add(" ");
    }
    if (reason) line.add(device_or_reason(trial), Style::dim);
    return line;
}

/// Returns the best trial, if there is one, or the Pareto front of a study with several objectives.
Trials best_of(const Study& study, const StudyRecord& record) {
    if (!study.objective.further.empty()) return front_of(record, study.objective);
    const TrialRecord* best = best_trial(record, study.objective);
    return best ? Trials{best} : Trials{};
}

void add_head(Canvas& canvas, const Study& study, const StudyRecord& record, const Trials& best, const Moment& moment,
              const Screen& screen) {
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

std::size_t index_of(const std::vector<const TrialRecord*>& trials, std::int64_t number) {
    const auto found = std::find_if(trials.begin(), trials.end(), [&](auto* trial) { return trial->number == number; });
    return found == trials.end() ? 0 : static_cast<std::size_t>(found - trials.begin());
}

Line help_line(const TopState& state, const Screen& screen) {
    if (state.asking)
        return Line().add("Stop trial " + std::to_string(state.chosen) + "? y: yes, any other key: no", Style::notice);
    if (!state.message.empty()) return Line().add(printable(state.message), Style::notice);
    const std::string arrows = screen.utf8 ? "↑↓" : "j k";
    if (state.in_details) return Line().add(arrows + " scroll  esc back  x stop  q quit", Style::dim);
    return Line().add(
        arrows + " select  enter details  s sort: " + std::string(to_text(state.sort)) + "  x stop  q quit",
        Style::dim);
}

}  // namespace

std::string_view to_text(TopSort sort) { return sort_names[static_cast<std::size_t>(sort)]; }

std::vector<const TrialRecord*> sorted(const StudyRecord& record, const Objective& objective, TopSort sort, bool held) {
    struct Row {
        int group;
        double key;
        const TrialRecord* trial;
    };
    std::vector<Row> rows;
    rows.reserve(record.trials.size());
    for (const TrialRecord& trial : record.trials)
        rows.push_back(
            {sort == TopSort::state ? group_of(trial, held) : 0, sort_key(trial, objective, sort, held), &trial});
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.group != b.group ? a.group < b.group : a.key < b.key; });
    std::vector<const TrialRecord*> trials;
    trials.reserve(rows.size());
    for (const Row& row : rows) trials.push_back(row.trial);
    return trials;
}

TopRequest on_key(TopState& state, Key key, const StudyRecord& record, const Objective& objective, int page,
                  bool held) {
    if (key.code == KeyCode::none) return TopRequest::none;
    if (key.code == KeyCode::closed) return TopRequest::quit;
    state.message.clear();
    if (state.asking) {
        state.asking = false;
        return key.code == KeyCode::character && key.character == 'y' ? TopRequest::stop_chosen : TopRequest::none;
    }
    const auto trials = sorted(record, objective, state.sort, held);
    const auto count = static_cast<std::int64_t>(trials.size());
    const auto at = static_cast<std::int64_t>(index_of(trials, state.chosen));
    const auto choose = [&](std::int64_t index) {
        // In the details of a trial, the same keys scroll the text.
        if (state.in_details && key.code != KeyCode::enter) {
            const auto lines = std::clamp<std::int64_t>(index - at, -scroll_to_end, scroll_to_end);
            state.scrolled = static_cast<int>(std::clamp<std::int64_t>(state.scrolled + lines, 0, scroll_to_end));
            return;
        }
        if (count > 0)
            state.chosen = trials[static_cast<std::size_t>(std::clamp<std::int64_t>(index, 0, count - 1))]->number;
    };
    const std::int64_t to_start = at - scroll_to_end, to_end = at + scroll_to_end;
    switch (key.code) {
        case KeyCode::up:
            choose(at - 1);
            break;
        case KeyCode::down:
            choose(at + 1);
            break;
        case KeyCode::page_up:
            choose(at - page);
            break;
        case KeyCode::page_down:
            choose(at + page);
            break;
        case KeyCode::home:
            choose(to_start);
            break;
        case KeyCode::end:
            choose(to_end);
            break;
        case KeyCode::enter:
            choose(at), state.in_details = count > 0, state.scrolled = 0;
            break;
        case KeyCode::escape:
            state.in_details = false;
            break;
        case KeyCode::character:
            switch (key.character) {
                case 'k':
                    choose(at - 1);
                    break;
                case 'j':
                    choose(at + 1);
                    break;
                case 'g':
                    choose(to_start);
                    break;
                case 'G':
                    choose(to_end);
                    break;
                case 's':
                    state.sort = static_cast<TopSort>((static_cast<int>(state.sort) + 1) % top_sorts);
                    break;
                case 'q':
                    if (!state.in_details) return TopRequest::quit;
                    state.in_details = false;
                    break;
                case 'x':
                    choose(at);
                    if (count > 0 && is_final(record.trial(state.chosen).state))
                        state.message = "trial " + std::to_string(state.chosen) + " has already ended";
                    else
                        state.asking = count > 0;
                    break;
                default:
                    break;
            }
            break;
        case KeyCode::none:
        case KeyCode::closed:
            break;
    }
    return TopRequest::none;
}

void stop_at_the_end(TopState& state, const Study& study, const StudyRecord& record, const TrialFiles& files,
                     const Screen& screen) {
    if (!state.in_details || state.chosen < 1 || state.chosen > static_cast<std::int64_t>(record.trials.size())) return;
    const auto lines = trial_lines(study, record.trial(state.chosen), files, screen) - std::max(1, screen.height - 1);
    state.scrolled = static_cast<int>(std::clamp<std::int64_t>(lines, 0, state.scrolled));
}

std::string draw_top(const Study& study, const StudyRecord& record, const Moment& moment, const TopState& state,
                     const TrialFiles& files, Screen screen) {
    const bool all = screen.height <= 0;
    const bool known = state.chosen >= 1 && state.chosen <= static_cast<std::int64_t>(record.trials.size());
    if (state.in_details && known && !all) {
        Screen above = screen;
        above.height = std::max(1, screen.height - 1);
        std::string text = draw_trial(study, record.trial(state.chosen), files, above, state.scrolled);
        text.append(static_cast<std::size_t>(
                        std::max<std::ptrdiff_t>(0, above.height - std::count(text.begin(), text.end(), '\n'))),
                    '\n');
        return text + help_line(state, screen).render(screen) + '\n';
    }
    if (all) screen.height = std::numeric_limits<int>::max();
    Canvas canvas(screen);
    const Trials best = best_of(study, record);
    add_head(canvas, study, record, best, moment, screen);
    const auto shown = fitting_columns(study, best, screen);
    int used = 0;
    for (const Column& column : shown) used += column.width + 1;
    const bool reason = screen.width <= 0 || screen.width - used >= min_reason_width;
    canvas.add(head_line(shown, reason, screen));

    const auto trials = sorted(record, study.objective, state.sort, moment.held);
    const auto page = static_cast<std::size_t>(std::max(0, canvas.rows_left() - (all ? 0 : 1)));
    const std::size_t chosen = index_of(trials, state.chosen);
    const std::size_t first = all ? 0 : first_row(chosen, trials.size(), page);
    for (std::size_t i = first; i < std::min(trials.size(), all ? trials.size() : first + page); ++i)
        canvas.add(trial_line(study, *trials[i], shown, reason, contains(best, *trials[i]), screen),
                   !all && i == chosen);
    if (!all) {
        while (canvas.rows_left() > 1) canvas.blank();
        canvas.add(help_line(state, screen));
    }
    return canvas.text();
}

}  // namespace hpo::view
