#include "orchestrator/view/detail.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "hpo/training_seconds.hpp"
#include "orchestrator/view/chart.hpp"
#include "orchestrator/view/summary.hpp"
#include "orchestrator/view/trial_field.hpp"

namespace hpo::view {
namespace {

constexpr int name_width = 16;

/// Adds a name and its text. The text is wrapped at the edge of the screen. Adds nothing if it is empty.
void add_fact(Canvas& canvas, const Screen& screen, const std::string& name, std::string_view text,
              Style style = Style::plain) {
    std::string label = name;
    const int room = screen.width > name_width + 8 ? screen.width - name_width : std::numeric_limits<int>::max();
    while (!text.empty()) {
        std::string_view part = cut(text, room);
        // Breaks at a blank if there is one in the second half of the row.
        if (const auto blank = part.rfind(' ');
            part.size() < text.size() && blank != std::string_view::npos && blank > part.size() / 2)
            part = part.substr(0, blank + 1);
        canvas.add(Line().add(pad_right(label, name_width, screen), Style::dim).add(part, style));
        text.remove_prefix(part.size());
        label.clear();
    }
}

/// Returns "2.500 GiB measured, 3.000 GiB reserved" without the amounts that are 0, which are not known.
std::string memory_text(std::int64_t measured, std::int64_t reserved) {
    std::string text = measured > 0 ? size_text(measured) : "";
    if (measured > 0) text += " measured";
    if (reserved > 0) text += (text.empty() ? "" : ", ") + size_text(reserved) + " reserved";
    return text;
}

/// Adds the memory measured and reserved, the device, and the attempts that ran out of memory.
void add_memory(Canvas& canvas, const TrialRecord& trial, const Screen& screen) {
    std::int64_t host = trial.peak.host_bytes, device = trial.peak.device_bytes;
    for (const Report& report : trial.curve) {
        host = std::max(host, report.peak_bytes.value_or(0));
        device = std::max(device, report.peak_device_bytes.value_or(0));
    }
    const Allocation& allocation = *trial.allocation;
    const std::string host_text = memory_text(host, allocation.footprint.host_bytes);
    const std::string device_text = memory_text(device, allocation.footprint.device_bytes);
    const auto with_alone = [&](const std::string& text) {
        if (!allocation.alone) return text;
        return text.empty() ? std::string("not known; ran alone") : text + "; ran alone";
    };
    add_fact(canvas, screen, "memory", device_text.empty() ? with_alone(host_text) : host_text);
    if (!device_text.empty()) add_fact(canvas, screen, "device memory", with_alone(device_text));
    if (allocation.micro_batches > 1)
        add_fact(canvas, screen, "micro-batches",
                 std::to_string(allocation.micro_batches) + " per update, to fit the memory");
    if (trial.memory_deaths > 0) add_fact(canvas, screen, "out of memory", counted(trial.memory_deaths, "attempt"));
}

/// Returns "0.52 s measured, 0.49 s predicted (hpo bench devices: cpu, times 1.31 by 12 earlier trials)". Returns an
/// empty text if nothing was predicted.
std::string step_text(const TrialRecord& trial) {
    const StepForecast& forecast = trial.allocation->forecast;
    if (forecast.device.empty()) return {};
    const auto measured = measured_step(trial);
    std::string text = measured ? duration_text(*measured) + " measured, " : "";
    text += duration_text(forecast.seconds()) + " predicted (hpo bench devices: " + printable(forecast.device);
    if (forecast.trials > 0)
        text += ", times " + short_number(forecast.factor) + " by " + counted(forecast.trials, "earlier trial");
    return text + ")";
}

/// Adds a fact of several lines.
void add_lines(Canvas& canvas, const std::string& name, const std::string& lines, const Screen& screen) {
    for (std::size_t at = 0; at < lines.size();) {
        const auto end = std::min(lines.find('\n', at), lines.size());
        add_fact(canvas, screen, at == 0 ? name : "", printable(lines.substr(at, end - at)));
        at = end + 1;
    }
}

/// Returns "test_accuracy 0.912, test_loss 0.31".
std::string numbers_text(const Metrics& numbers) {
    std::string text;
    for (const auto& [name, value] : numbers)
        text += (text.empty() ? "" : ", ") + printable(name) + " " + short_number(value);
    return text;
}

void add_parameters(Canvas& canvas, const TrialRecord& trial, const Screen& screen) {
    constexpr int value_width = 22;
    int names = name_width;
    for (const auto& [name, value] : trial.params) names = std::max(names, columns(printable(name)) + 2);
    const int cell = names + value_width + 2;
    const int per_row = std::max(1, (screen.width > 0 ? screen.width : 80) / cell);
    int in_row = 0;
    Line line;
    for (const auto& [name, value] : trial.params) {
        if (in_row == per_row) canvas.add(line), line = Line(), in_row = 0;
        line.to(in_row * cell);
        line.add(pad_right(printable(name), names, screen), Style::dim)
            .add(pad_right(value_text(value), value_width, screen));
        ++in_row;
    }
    if (in_row > 0) canvas.add(line);
}

/// Returns the metrics that a trial has reported: those that judge it, then the others in their order.
std::vector<std::string> reported_metrics(const Study& study, const TrialRecord& trial) {
    std::set<std::string> names;
    for (const Report& report : trial.curve)
        for (const auto& [name, value] : report.metrics) names.insert(name);
    std::vector<std::string> ordered;
    if (names.erase(study.objective.metric) > 0) ordered.push_back(study.objective.metric);
    for (const std::string& metric : judged_metrics(study.objective))
        if (names.erase(metric) > 0) ordered.push_back(metric);
    ordered.insert(ordered.end(), names.begin(), names.end());
    return ordered;
}

/// The columns of the table of steps, and the number of metrics that have none.
struct StepColumns {
    std::vector<std::string> metrics;
    std::size_t left_out = 0;
};

int column_width(const std::string& metric) { return std::max(11, columns(printable(metric)) + 2); }

/// Chooses the columns that fit the screen's width, at least those that judge the trial and at most a readable number.
StepColumns step_columns(const Study& study, const TrialRecord& trial, const Screen& screen) {
    constexpr std::size_t readable = 12;
    constexpr int before = 15, after = 6;  // columns of a row around its metrics
    StepColumns chosen{reported_metrics(study, trial)};
    const std::size_t all = chosen.metrics.size(), judging = 1 + judged_metrics(study.objective).size();
    std::size_t fit = 0;
    for (int used = before + after; fit < all && fit < readable; ++fit) {
        used += column_width(chosen.metrics[fit]);
        if (screen.width > 0 && used > screen.width) break;
    }
    chosen.metrics.resize(std::min(all, std::max(fit, judging)));
    chosen.left_out = all - chosen.metrics.size();
    return chosen;
}

/// Says how many metrics the table of steps leaves out, and what shows them.
void add_left_out(Canvas& canvas, const Study& study, const TrialRecord& trial, const Screen& screen) {
    const std::size_t left_out = step_columns(study, trial, screen).left_out;
    if (left_out == 0) return;
    canvas.add(counted(static_cast<std::int64_t>(left_out), "more metric") + " in hpo show " + study.name + "/" +
                   std::to_string(trial.number) + " --json",
               Style::dim);
    canvas.blank();
}

void add_steps(Canvas& canvas, const Study& study, const TrialRecord& trial, const Screen& screen) {
    const auto metrics = step_columns(study, trial, screen).metrics;
    Line head;
    head.add(pad_left(step_name(study) == "epoch" ? "EPOCH" : "STEP", 6, screen) + pad_left("IT/S", 9, screen),
             Style::dim);
    for (const auto& name : metrics) head.add(pad_left(printable(name), column_width(name), screen), Style::dim);
    canvas.add(head);
    // On a screen the last step comes first, so that it is visible.
    const bool newest_first = screen.height != std::numeric_limits<int>::max();
    const auto count = trial.curve.size();
    const auto skipped = std::min(static_cast<std::size_t>(canvas.above()), count);
    canvas.skip(static_cast<std::int64_t>(skipped));
    for (std::size_t i = skipped; i < count && canvas.rows_left() > 0; ++i) {
        const Report& report = trial.curve[newest_first ? count - 1 - i : i];
        const Style style = report.step == trial.best_step ? Style::strong : Style::plain;
        Line line;
        line.add(pad_left(std::to_string(report.step), 6, screen), style);
        line.add(pad_left(report.iterations_per_second ? short_number(*report.iterations_per_second) : "-", 9, screen),
                 style);
        for (const auto& name : metrics) {
            const auto found = report.metrics.find(name);
            line.add(
                pad_left(found == report.metrics.end() ? "-" : short_number(found->second), column_width(name), screen),
                style);
        }
        if (report.step == trial.best_step) line.add("  best", Style::good);
        if (report.micro_batch) line.add("  micro-batches of " + std::to_string(*report.micro_batch), Style::notice);
        if (!report.warning.empty()) line.add("  " + printable(report.warning), Style::notice);
        canvas.add(line);
    }
}

/// Returns "3, 1 failed, 1 ran out of memory", or an empty text for a trial with one attempt.
std::string attempts_text(const TrialRecord& trial) {
    if (trial.attempt < 2) return {};
    std::string text = std::to_string(trial.attempt);
    if (trial.failures > 0) text += ", " + std::to_string(trial.failures) + " failed";
    if (trial.memory_deaths > 0) text += ", " + std::to_string(trial.memory_deaths) + " ran out of memory";
    return text;
}

constexpr int chart_height = 8;
constexpr std::size_t most_log_lines = 8;

/// Adds the curve with axes, and the rival's curve beside it.
void add_curves(Canvas& canvas, const Study& study, const TrialRecord& trial, const Rival& rival,
                const Screen& screen) {
    const Curve own = curve_of(trial, study.objective.metric);
    if (own.empty()) return;
    Line title;
    title.add(printable(study.objective.metric), Style::strong);
    if (rival.number != 0)
        title.add(screen.utf8 ? "   · trial " : "   . trial ", Style::notice)
            .add(std::to_string(rival.number), Style::notice);
    canvas.add(title);
    if (own.size() + rival.curve.size() == 1)
        canvas.add(short_number(own[0].value) + " at " + step_name(study) + " " + std::to_string(own[0].step) +
                   ", the only value so far");
    add_chart(canvas, own, rival.curve, chart_height, screen);
    canvas.blank();
}

void add_log(Canvas& canvas, const TrialFiles& files) {
    if (files.log_lines.empty()) return;
    canvas.add("log, its end", Style::dim);
    const std::size_t count = files.log_lines.size();
    for (std::size_t i = count - std::min(count, most_log_lines); i < count; ++i)
        canvas.add("  " + printable(files.log_lines[i]));
    canvas.blank();
}

void add_surroundings(Canvas& canvas, const TrialRecord& trial, const TrialFiles& files, const Screen& screen) {
    add_lines(canvas, "environment", trial.allocation->environment, screen);
    add_fact(canvas, screen, "log", printable(files.log));
    add_fact(canvas, screen, "checkpoints", printable(files.checkpoints));
}

/// Draws everything except the table of steps.
void add_facts(Canvas& canvas, const Study& study, const TrialRecord& trial, const TrialFiles& files,
               const Screen& screen, const Rival* rival) {
    canvas.add(Line()
                   .add("trial " + std::to_string(trial.number), Style::strong)
                   .add(" of " + study.name + "  ")
                   .add(to_text(trial.state), state_style(trial.state))
                   .add(tries(trial) > 1 ? ", attempt " + std::to_string(tries(trial)) : ""));
    add_lines(canvas, trial.state == TrialState::running ? "last attempt" : "reason",
              trial.rule.empty() ? trial.reason : trial.rule + ": " + trial.reason, screen);
    add_fact(canvas, screen, "tags", files.tags);
    add_lines(canvas, "notes", files.notes, screen);
    if (trial.value)
        add_fact(canvas, screen, study.objective.metric,
                 short_number(*own_value(trial)) + " at " + step_name(study) + " " + std::to_string(trial.best_step) +
                     (study.budget.open ? "" : " of " + std::to_string(study.budget.epochs)),
                 Style::strong);
    if (files.predicted_end)
        add_fact(canvas, screen, "predicted end", short_number(*files.predicted_end) + ", by a stopping rule");
    if (const std::string seeds = seeds_text(trial); !seeds.empty())
        add_fact(canvas, screen, "configuration", short_number(*trial.value) + ", " + seeds, Style::strong);
    if (trial.repeat_of != 0)
        add_fact(canvas, screen, "configuration", "another seed of trial " + std::to_string(trial.repeat_of));
    for (const std::string& metric : judged_metrics(study.objective))
        if (const auto value = metric_that_counts(trial, metric))
            add_fact(canvas, screen, metric, short_number(*value), Style::strong);
    add_fact(canvas, screen, "breaks", broken_text(trial, study.objective));
    add_fact(canvas, screen, "final metrics", numbers_text(trial.closing));
    if (!trial.curve.empty()) {
        const Report& last = trial.curve.back();
        std::string speed;
        if (const auto seconds = training_seconds(trial)) speed = duration_text(*seconds) + " of training";
        if (last.iterations_per_second_overall)
            speed += (speed.empty() ? "" : ", ") + short_number(*last.iterations_per_second_overall) + " it/s";
        if (last.samples_per_second_overall)
            speed += ", " + short_number(*last.samples_per_second_overall) + " samples/s";
        add_fact(canvas, screen, "speed", speed);
        if (const auto share = communication_of(trial))
            add_fact(canvas, screen, "communication",
                     percent_text(*share) + " of the training time, between the processes of the trial");
    }
    add_fact(canvas, screen, "a step", step_text(trial));
    add_fact(canvas, screen, "attempts", attempts_text(trial));
    add_memory(canvas, trial, screen);
    add_fact(canvas, screen, "runs on", printable(trial.where));
    add_fact(canvas, screen, "host", printable(trial.allocation->host));
    add_fact(canvas, screen, "device", printable(trial.allocation->device));
    add_fact(canvas, screen, "chosen", printable(trial.allocation->forecast.why));
    if (!rival) add_surroundings(canvas, trial, files, screen);
    canvas.blank();
    add_parameters(canvas, trial, screen);
    if (rival) {
        canvas.blank();
        add_curves(canvas, study, trial, *rival, screen);
        add_log(canvas, files);
        add_surroundings(canvas, trial, files, screen);  // the curve is asked for more often
        canvas.blank();
        add_left_out(canvas, study, trial, screen);
        return;
    }
    if (trial.curve.empty()) return;
    canvas.blank();
    std::vector<std::string> drawn{"loss"};
    if (study.objective.metric != drawn.front()) drawn.push_back(study.objective.metric);
    bool any_drawn = false;
    for (const std::string& metric : drawn)
        if (const auto curve = curve_of(trial, metric); curve.size() > 1) {
            add_fact(canvas, screen, metric,
                     sparkline_of(curve, std::clamp(screen.width - name_width, 10, 60), screen.utf8), Style::accent);
            any_drawn = true;
        }
    if (any_drawn) canvas.blank();
    add_left_out(canvas, study, trial, screen);
}

}  // namespace

std::string draw_trial(const Study& study, const TrialRecord& trial, const TrialFiles& files, Screen screen,
                       std::int64_t above, const Rival* rival) {
    if (screen.height <= 0) screen.height = std::numeric_limits<int>::max();
    Canvas canvas(screen, above);
    add_facts(canvas, study, trial, files, screen, rival);
    if (!trial.curve.empty()) add_steps(canvas, study, trial, screen);
    return canvas.text();
}

std::int64_t trial_lines(const Study& study, const TrialRecord& trial, const TrialFiles& files, Screen screen,
                         const Rival* rival) {
    screen.height = std::numeric_limits<int>::max();
    Canvas canvas(screen);
    add_facts(canvas, study, trial, files, screen, rival);
    const auto lines = std::count(canvas.text().begin(), canvas.text().end(), '\n');
    return lines + (trial.curve.empty() ? 0 : 1 + static_cast<std::int64_t>(trial.curve.size()));
}

std::string draw_comparison(const Study& study, const TrialRecord& one, const TrialRecord& other, const Curve& own,
                            const Curve& others, Screen screen) {
    screen.height = std::numeric_limits<int>::max();
    Canvas canvas(screen);
    const int cell = std::clamp((screen.width - name_width - 4) / 2, 8, 24);
    const auto add = [&](const std::string& name, const std::string& left, const std::string& right, bool marks) {
        const bool differs = marks && left != right;
        if (left.empty() && right.empty()) return;
        canvas.add(Line()
                       .add(pad_right(name, name_width, screen), Style::dim)
                       .add(differs ? "* " : "  ", Style::notice)
                       .add(pad_right(left, cell, screen) + "  " + pad_right(right, cell, screen),
                            differs ? Style::strong : Style::plain));
    };
    const auto add_of = [&](const std::string& name, auto&& text) { add(name, text(one), text(other), false); };
    const auto number = [](const std::optional<double>& value) {
        return value ? short_number(*value) : std::string("-");
    };
    canvas.add(Line()
                   .add(pad_right("", name_width + 2, screen))
                   .add(pad_right("trial " + std::to_string(one.number), cell, screen) + "  ", Style::accent)
                   .add(pad_right("trial " + std::to_string(other.number), cell, screen), Style::notice));
    add_of("state", [](const TrialRecord& trial) { return std::string(to_text(trial.state)); });
    add_of(printable(study.objective.metric), [&](const TrialRecord& trial) { return number(trial.value); });
    for (const std::string& metric : judged_metrics(study.objective))
        add_of(printable(metric), [&](const TrialRecord& trial) { return number(metric_that_counts(trial, metric)); });
    add_of(step_name(study), [&](const TrialRecord& trial) {
        return progress_text(study, trial.steps()) +
               (trial.best_step > 0 ? ", best at " + std::to_string(trial.best_step) : "");
    });
    add_of("time", [](const TrialRecord& trial) {
        const auto seconds = seconds_taken(trial);
        return seconds ? duration_text(*seconds) : std::string("-");
    });
    add_of("it/s", [&](const TrialRecord& trial) { return number(speed_of(trial)); });
    add_of("memory", [](const TrialRecord& trial) {
        const auto memory = memory_of(trial);
        return memory ? bytes_text(*memory) : std::string("-");
    });
    canvas.blank();
    std::set<std::string> names;
    for (const TrialRecord* trial : {&one, &other})
        for (const auto& [name, value] : trial->params) names.insert(name);
    const auto value = [](const TrialRecord& trial, const std::string& name) {
        const auto found = trial.params.find(name);
        return found == trial.params.end() ? std::string("-") : value_text(found->second);
    };
    for (const bool differing : {true, false})
        for (const std::string& name : names)
            if (const std::string left = value(one, name), right = value(other, name); (left != right) == differing)
                add(printable(name), left, right, true);
    canvas.blank();
    canvas.add(Line()
                   .add(printable(study.objective.metric), Style::strong)
                   .add("   trial " + std::to_string(one.number), Style::accent)
                   .add((screen.utf8 ? "   · trial " : "   . trial ") + std::to_string(other.number), Style::notice));
    add_chart(canvas, own, others, chart_height, screen);
    return canvas.text();
}

}  // namespace hpo::view
