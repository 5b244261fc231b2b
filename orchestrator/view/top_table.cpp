#include "orchestrator/view/top_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "hpo/printable.hpp"
#include "hpo/standing.hpp"
#include "hpo/step_name.hpp"
#include "hpo/text.hpp"
#include "hpo/training_seconds.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::view {
namespace {

using FieldKind = TrialField::Kind;

/// A row's place in the order: by group, then by violation of constraints, then by number or text.
struct Place {
    int group = 0;
    double violation = 0;
    double number = 0;
    std::string text;
    const TrialRecord* trial = nullptr;
};

bool is_unranked(const TrialRecord& trial) {
    return trial.state == TrialState::diverged || trial.state == TrialState::failed;
}

/// Returns true if the trial has a rank. Of a configuration with several seeds the first trial has it, by their mean.
bool counts(const TrialRecord& trial) { return trial.value && !is_unranked(trial) && trial.repeat_of == 0; }

Place place_by_value(const TrialRecord& trial, const Objective& objective, bool on_front) {
    Place place{.trial = &trial};
    if (counts(trial)) {
        place.group = objective.further.empty() || on_front ? 0 : 1;
        place.number = *trial.value;
        if (!objective.constraints.empty())
            for (const double violation : violations_of(trial, objective)) place.violation += std::max(0.0, violation);
        return place;
    }
    const bool waits = trial.state == TrialState::queued;
    place.group = waits ? 5 : is_unranked(trial) ? 4 : trial.repeat_of != 0 ? 3 : 2;
    return place;
}

Place place_by_state(const TrialRecord& trial, bool held) {
    Place place{.trial = &trial};
    if (trial.state == TrialState::running)
        place.group = 0;
    else if (trial.state == TrialState::paused && held)
        place.group = 1;
    else if (trial.state == TrialState::queued)
        place.group = 4;
    else
        place.group = counts(trial) ? 2 : 3;
    if (place.group == 2) place.number = *trial.value;
    return place;
}

Place place_by_field(const TrialRecord& trial, const TrialField& field) {
    Place place{.trial = &trial};
    FieldValue value = value_of(trial, field);
    if (const double* number = std::get_if<double>(&value); number && !std::isnan(*number))
        place.number = *number;
    else if (auto* text = std::get_if<std::string>(&value))
        place.group = 1, place.text = std::move(*text);
    else
        place.group = 2;
    return place;
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

std::optional<double> device_memory_of(const TrialRecord& trial) {
    std::int64_t bytes = trial.peak.device_bytes;
    if (!trial.curve.empty()) bytes = std::max(bytes, trial.curve.back().peak_device_bytes.value_or(0));
    return bytes > 0 ? std::optional(static_cast<double>(bytes)) : std::nullopt;
}

bool is_among(const Trials& trials, const TrialRecord& trial) {
    return std::find(trials.begin(), trials.end(), &trial) != trials.end();
}

std::string parameter_cell(const Value& value) {
    if (const auto* real = std::get_if<double>(&value)) return compact_number(*real);
    return value_text(value);
}

constexpr int curve_columns = 8;
constexpr int most_parameter_columns = 12, most_spared_columns = 40;
// Widths of the last column. With less than the minimum it is left out.
constexpr int min_reason_width = 12;
constexpr int preferred_reason_width = 50;

/// Returns the column of a parameter, as wide as its values may be, whichever rows are shown.
Column parameter_column(const Dimension& dimension, int rank) {
    std::string title = printable(dimension.name.substr(dimension.name.rfind('.') + 1));
    int width = 8;
    if (dimension.kind == Kind::categorical) {
        width = 3;
        for (const Value& choice : dimension.choices) width = std::max(width, columns(parameter_cell(choice)));
    } else if (dimension.kind == Kind::integer) {
        width = std::max(columns(std::to_string(std::llround(dimension.low))),
                         columns(std::to_string(std::llround(dimension.high))));
    }
    const int most = std::min(std::max(width, columns(title) + 1), most_spared_columns);
    // One column more for the mark of the order.
    width = std::clamp(std::max(width, std::min(columns(title) + 1, 11)), 4, most_parameter_columns);
    return {.title = std::move(title),
            .width = width,
            .most_width = most,
            .right = dimension.kind != Kind::categorical,
            .rank = rank,
            .field = TrialField{FieldKind::parameter, dimension.name},
            .cell = [&name = dimension.name](const TrialRecord& trial) {
                const auto found = trial.params.find(name);
                return found == trial.params.end() ? std::string("-") : parameter_cell(found->second);
            }};
}

void add_parameter_columns(std::vector<Column>& all, const Study& study, const std::set<std::string>& hidden) {
    int rank = 10;  // the last ones are left out first
    for (const Dimension& dimension : study.space)
        if (!hidden.contains(dimension.name)) all.push_back(parameter_column(dimension, rank++));
}

void add_resource_columns(std::vector<Column>& all, const StudyRecord& record) {
    all.push_back({.title = "IT/S",
                   .width = 6,
                   .right = true,
                   .rank = 3,
                   .field = TrialField{FieldKind::speed},
                   .cell = [](const TrialRecord& trial) { return number_or_dash(speed_of(trial)); }});
    all.push_back({.title = "TIME",
                   .width = 7,
                   .right = true,
                   .rank = 4,
                   .field = TrialField{FieldKind::time},
                   .cell = [](const TrialRecord& trial) {
                       const auto seconds = seconds_taken(trial);
                       return seconds ? duration_text(*seconds) : "-";
                   }});
    all.push_back({.title = "MEMORY",
                   .width = 8,
                   .right = true,
                   .rank = 6,
                   .field = TrialField{FieldKind::memory},
                   .cell = [](const TrialRecord& trial) {
                       const auto memory = memory_of(trial);
                       return memory ? short_bytes(*memory) : "-";
                   }});
    if (std::any_of(record.trials.begin(), record.trials.end(), [](const auto& t) { return device_memory_of(t); }))
        all.push_back({.title = "GPU MEM", .width = 8, .right = true, .rank = 7, .cell = [](const TrialRecord& trial) {
                           const auto memory = device_memory_of(trial);
                           return memory ? short_bytes(*memory) : "-";
                       }});
}

std::vector<Column> all_columns(const Study& study, const StudyRecord& record, TopColumns set,
                                const std::set<std::string>& hidden, const Trials& best, const Curves& curves,
                                int max_metric_width, const Screen& screen) {
    const int step_width = std::max(4, columns(progress_text(study, study.budget.epochs)));
    const std::string& metric = study.objective.metric;
    std::vector<Column> all;
    // The number has two marks before it, without colours.
    const int number_width = std::max(6, 2 + columns(std::to_string(record.trials.size())));
    all.push_back(
        {.title = "TRIAL", .width = number_width, .right = true, .rank = 0, .field = TrialField{FieldKind::trial}});
    all.push_back({.title = "STATE",
                   .width = 8,
                   .rank = 0,
                   .field = TrialField{FieldKind::state},
                   .cell = [](const TrialRecord& trial) { return std::string(to_text(trial.state)); }});
    all.push_back({.title = "STEP",
                   .width = step_width,
                   .right = true,
                   .rank = 1,
                   .field = TrialField{FieldKind::step},
                   .cell = [&study](const TrialRecord& trial) { return progress_text(study, trial.steps()); }});
    all.push_back({.title = printable(metric),
                   .width = std::clamp(columns(metric) + 1, 8, max_metric_width),
                   .right = true,
                   .rank = 1,
                   .field = TrialField{FieldKind::value},
                   .cell = [](const TrialRecord& trial) { return number_or_dash(trial.value); }});
    for (const std::string& judged : judged_metrics(study.objective))
        all.push_back(
            {.title = printable(judged),
             .width = std::clamp(columns(judged) + 1, 8, max_metric_width),
             .right = true,
             .rank = 2,
             .field = TrialField{FieldKind::metric, judged},
             .cell = [judged](const TrialRecord& trial) { return number_or_dash(metric_that_counts(trial, judged)); }});
    if (!study.objective.further.empty())
        all.push_back({.title = "FRONT", .width = 5, .rank = 2, .cell = [&best](const TrialRecord& trial) {
                           return std::string(is_among(best, trial) ? "yes" : "");
                       }});
    all.push_back({.title = "CURVE",
                   .width = curve_columns,
                   .rank = 5,
                   .cell =
                       [&metric, &curves, utf8 = screen.utf8](const TrialRecord& trial) {
                           const auto known = trial.thinned ? curves.find(trial.number) : curves.end();
                           return known == curves.end() ? sparkline_of(curve_of(trial, metric), curve_columns, utf8)
                                                        : sparkline_of(known->second, curve_columns, utf8);
                       },
                   .style = Style::accent});
    if (set == TopColumns::parameters)
        add_parameter_columns(all, study, hidden);
    else
        add_resource_columns(all, record);
    return all;
}

int total_width(const std::vector<Column>& columns) {
    int sum = 0;
    for (const Column& column : columns) sum += column.width + 1;
    return sum;
}

}  // namespace

bool descends(const TopOrder& order, const Objective& objective) {
    bool greatest_first = false;
    switch (order.field.kind) {
        case FieldKind::value:
        case FieldKind::state:
            greatest_first = objective.direction == Direction::maximize;
            break;
        case FieldKind::step:
        case FieldKind::speed:
        case FieldKind::time:
        case FieldKind::memory:
            greatest_first = true;
            break;
        default:
            break;
    }
    return greatest_first != order.reversed;
}

Trials ordered(const StudyRecord& record, const Objective& objective, const TopOrder& order, bool held,
               const TrialFilter& filter) {
    std::unordered_set<const TrialRecord*> front;
    if (order.field.kind == FieldKind::value && !objective.further.empty())
        for (const TrialRecord* trial : front_of(record, objective)) front.insert(trial);
    std::vector<Place> places;
    places.reserve(record.trials.size());
    for (const TrialRecord& trial : record.trials) {
        if (!filter.terms.empty() && !matches(filter, trial)) continue;
        places.push_back(order.field.kind == FieldKind::value ? place_by_value(trial, objective, front.contains(&trial))
                         : order.field.kind == FieldKind::state ? place_by_state(trial, held)
                                                                : place_by_field(trial, order.field));
    }
    const bool down = descends(order, objective);
    // The keys lie side by side, as 100,000 places do not fit into the nearer caches.
    struct Key {
        double violation, number;
        std::uint32_t place;
        int group;
    };
    std::vector<Key> keys;
    keys.reserve(places.size());
    for (const Place& place : places)
        keys.push_back({place.violation, place.number, static_cast<std::uint32_t>(keys.size()), place.group});
    std::stable_sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
        if (a.group != b.group) return a.group < b.group;
        if (a.violation != b.violation) return a.violation < b.violation;
        if (a.number != b.number) return down ? a.number > b.number : a.number < b.number;
        const std::string &first = places[a.place].text, &second = places[b.place].text;
        return down ? first > second : first < second;
    });
    Trials trials;
    trials.reserve(places.size());
    for (const Key& key : keys) trials.push_back(places[key.place].trial);
    return trials;
}

Trials best_of(const Study& study, const StudyRecord& record) {
    if (!study.objective.further.empty()) return front_of(record, study.objective);
    const TrialRecord* best = best_trial(record, study.objective);
    return best ? Trials{best} : Trials{};
}

std::vector<Column> fitting_columns(const Study& study, const StudyRecord& record, TopColumns set,
                                    const std::set<std::string>& hidden, const Trials& best, const Curves& curves,
                                    const Screen& screen) {
    const int width = screen.width > 0 ? screen.width : std::numeric_limits<int>::max();
    const auto with = [&](int metric_width) {
        return all_columns(study, record, set, hidden, best, curves, metric_width, screen);
    };
    auto all = with(10);
    if (const int spare = width - total_width(all) - preferred_reason_width; spare > 0)
        all = with(std::max(10, std::min(columns(study.objective.metric) + 1, 10 + spare)));
    for (Column& column : all) {
        const int spare = width - total_width(all) - preferred_reason_width;
        if (spare > 0) column.width += std::clamp(column.most_width - column.width, 0, spare);
    }
    while (total_width(all) - 1 > width && all.size() > 2)
        all.erase(
            std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; }));
    return all;
}

int reason_width(const std::vector<Column>& columns, const Screen& screen) {
    if (screen.width <= 0) return std::numeric_limits<int>::max();
    const int left = screen.width - total_width(columns);
    return left >= min_reason_width ? left : 0;
}

Line head_line(const std::vector<Column>& columns, const TopOrder& order, const Objective& objective,
               const Screen& screen) {
    Line line;
    const std::string mark = descends(order, objective) ? (screen.utf8 ? "▼" : "v") : screen.utf8 ? "▲" : "^";
    for (const Column& column : columns) {
        const bool sorted = column.field == order.field;
        std::string title = column.title;
        if (sorted)
            title = (view::columns(title) < column.width ? title : pad_right(title, column.width - 1, screen)) + mark;
        line.add(column.right ? pad_left(title, column.width, screen) : pad_right(title, column.width, screen),
                 sorted ? Style::strong : Style::dim);
        line.add(" ");
    }
    if (reason_width(columns, screen) > 0) line.add("DEVICE/REASON", Style::dim);
    return line;
}

Line row_line(const TrialRecord& trial, const std::vector<Column>& columns, bool best, bool marked, bool chosen,
              std::optional<double> predicted_end, const Screen& screen) {
    Line line;
    for (const Column& column : columns) {
        // The number has no cell of its own, since its mark depends on more than the trial.
        std::string cell = column.cell ? column.cell(trial)
                                       : (marked ? "+"
                                          : best ? "*"
                                                 : "") +
                                             std::to_string(trial.number);
        if (!column.cell && chosen && !screen.colour) cell = ">" + pad_left(cell, column.width - 1, screen);
        Style style = column.style;
        if (column.title == "STATE") style = state_style(trial.state);
        if (best && (!column.cell || column.field == TrialField{FieldKind::value})) style = Style::good;
        line.add(column.right ? pad_left(cell, column.width, screen) : pad_right(cell, column.width, screen), style);
        line.add(" ");
    }
    if (reason_width(columns, screen) == 0) return line;
    if (predicted_end) line.add("-> " + compact_number(*predicted_end) + "  ");
    return line.add(device_or_reason(trial), Style::dim);
}

}  // namespace hpo::view
