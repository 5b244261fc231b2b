#include "orchestrator/view/progress.hpp"

#include <algorithm>
#include <cmath>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/view/chart.hpp"
#include "orchestrator/view/time_left.hpp"

namespace hpo::view {
namespace {

constexpr int curve_width = 10;

std::string last_metric(const TrialRecord& trial, const std::string& metric) {
    for (auto report = trial.curve.rbegin(); report != trial.curve.rend(); ++report)
        if (const auto found = report->metrics.find(metric); found != report->metrics.end())
            return short_number(found->second);
    return "-";
}

/// Draws the name, the bar, the counts and the times. On a narrow screen the elapsed time is left out first, then the
/// counts, then the name.
Line first_line(const Study& study, const StudyRecord& record, const Moment& moment, const Screen& screen) {
    const std::string counts = count_text(study, record), elapsed = duration_text(moment.seconds);
    const auto estimate = time_left(study, record, moment);
    const std::string left = estimate && moment.held ? time_left_text(*estimate) : "";
    std::string name = study.name + " ", right = " " + counts + "   " + elapsed + (left.empty() ? "" : ", ") + left;
    const auto fits = [&] { return screen.width <= 0 || columns(name) + columns(right) <= screen.width; };
    if (!fits() && !left.empty()) right = " " + counts + "   " + left;
    if (!fits() && !left.empty()) right = " " + left;
    if (!fits()) name.clear(), right.erase(0, 1);
    Line line;
    line.add(name, Style::strong);
    const int bar_width = screen.width <= 0 ? 32 : std::min(screen.width - line.width() - columns(right), 32);
    if (bar_width >= 6) add_bar(line, part_done(study, record, moment), bar_width, screen);
    return line.add(right);
}

Line best_line(const Study& study, const TrialRecord& best) {
    Line line;
    line.add("best ").add(short_number(*best.value), Style::strong);
    line.add(" " + study.objective.metric + ", trial " + std::to_string(best.number), Style::plain);
    if (const std::string seeds = seeds_text(best); !seeds.empty()) line.add(", " + seeds);
    std::string parameters;
    for (const auto& [name, value] : best.params) parameters += "  " + name + " " + value_text(value);
    return line.add(parameters, Style::dim);
}

Line trial_line(const Study& study, const TrialRecord& trial, const Screen& screen) {
    const std::string last = study.budget.open ? "" : "/" + std::to_string(study.budget.epochs);
    const int digits = study.budget.open ? 3 : static_cast<int>(last.size()) - 1;
    Line line;
    line.add("  trial " + pad_left(std::to_string(trial.number), 4, screen), Style::accent);
    if (trial.where.starts_with("gpu")) line.add("  " + printable(trial.where), Style::dim);
    line.add("  " + pad_left(std::to_string(trial.steps()), digits, screen) + last);
    const std::string value = "  " + study.objective.metric + " " + last_metric(trial, study.objective.metric);
    std::string speed = "-";
    if (!trial.curve.empty() && trial.curve.back().iterations_per_second)
        speed = short_number(*trial.curve.back().iterations_per_second);
    const Line short_line = Line(line).add(value);  // for a narrow screen
    line.add("  " + pad_left(speed, 6, screen) + " it/s");
    line.add("  loss " + pad_right(last_metric(trial, "loss"), 9, screen));
    if (screen.width > 0 && line.width() + 4 + columns(value) > screen.width) return short_line;
    const int available = screen.width > 0 ? screen.width - line.width() - columns(value) : curve_width;
    const int width = std::clamp(available, 4, curve_width);
    line.add(pad_right(sparkline_of(curve_of(trial, study.objective.metric), width, screen.utf8), width, screen),
             Style::accent);
    return line.add(value);
}

}  // namespace

std::string draw_progress(const Study& study, const StudyRecord& record, const Moment& moment, const Screen& screen) {
    Screen above = screen;
    above.height = screen.height - 1;
    Canvas canvas(above);
    canvas.add(first_line(study, record, moment, screen));
    Line counts;
    if (const auto speed = total_speed(study, record); !speed.empty()) counts.add(speed, Style::strong).add("   ");
    counts.add(states_text(record));
    canvas.add(counts);
    if (const TrialRecord* best = best_trial(record, study.objective)) canvas.add(best_line(study, *best));
    add_pools(canvas, moment.pools, rows_for_pools(screen), screen);
    if (!moment.waits.empty()) canvas.add("waiting: " + printable(moment.waits), Style::notice);

    std::vector<const TrialRecord*> running;
    for (const TrialRecord& trial : record.trials)
        if (trial.state == TrialState::running) running.push_back(&trial);
    const auto rows = static_cast<std::size_t>(std::max(canvas.rows_left(), 0));
    const std::size_t shown = running.size() <= rows ? running.size() : rows > 0 ? rows - 1 : 0;
    for (std::size_t i = 0; i < shown; ++i) canvas.add(trial_line(study, *running[i], screen));
    if (shown < running.size()) canvas.add("  and " + std::to_string(running.size() - shown) + " more", Style::dim);
    return canvas.text();
}

}  // namespace hpo::view
