#include "orchestrator/view/report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hpo/printable.hpp"
#include "hpo/units.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::view {
namespace {

constexpr std::size_t max_shown = 5, max_front_shown = 12;  ///< trials

/// Adds a table with a column for each trial and a row for each property. It has as many trials as fit the width.
/// Returns their number.
std::size_t add_best(Canvas& canvas, const Study& study, const std::vector<const TrialRecord*>& ranked,
                     const Screen& screen) {
    struct Row {
        std::string name;
        std::vector<std::string> cells;
        Style style = Style::plain;
    };
    const auto count = std::min(ranked.size(), study.objective.further.empty() ? max_shown : max_front_shown);
    std::vector<Row> rows{{"trial", {}, Style::dim},
                          {study.objective.metric, {}, Style::strong},
                          {"best " + step_name(study), {}},
                          {"time", {}}};
    auto others = judged_metrics(study.objective);
    if (const std::string error = standard_error_of(study.objective.metric);
        count > 0 && metric_that_counts(*ranked[0], error))
        others.push_back(error);
    rows.insert(rows.begin() + 2, others.size(), {});
    for (std::size_t m = 0; m < others.size(); ++m) {
        Row& row = rows[2 + m];
        row = {others[m], {}, m < study.objective.further.size() ? Style::strong : Style::plain};
        for (std::size_t i = 0; i < count; ++i) {
            const auto value = metric_that_counts(*ranked[i], others[m]);
            row.cells.push_back(value ? short_number(*value) : "-");
        }
    }
    Row &best_step = rows[2 + others.size()], &time = rows[3 + others.size()];
    for (std::size_t i = 0; i < count; ++i) {
        const TrialRecord& trial = *ranked[i];
        rows[0].cells.push_back(std::to_string(trial.number));
        rows[1].cells.push_back(short_number(*trial.value));
        best_step.cells.push_back(progress_text(study, trial.best_step));
        const auto seconds = training_seconds(trial);
        time.cells.push_back(seconds ? duration_text(*seconds) : "-");
    }
    if (std::any_of(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count),
                    [](const TrialRecord* trial) { return !trial->seeds.empty(); })) {
        Row seeds{"seeds", {}}, deviation{"deviation", {}};
        for (std::size_t i = 0; i < count; ++i) {
            seeds.cells.push_back(std::to_string(std::max<std::size_t>(1, ranked[i]->seeds.size())));
            const auto known = deviation_of_seeds(*ranked[i]);
            deviation.cells.push_back(known ? short_number(*known) : "-");
        }
        rows.insert(rows.begin() + 2, {std::move(seeds), std::move(deviation)});
    }
    for (const Dimension& dimension : study.space) {
        Row row{dimension.name, {}};
        for (std::size_t i = 0; i < count; ++i) {
            const auto found = ranked[i]->params.find(dimension.name);
            row.cells.push_back(found == ranked[i]->params.end() ? "-" : value_text(found->second));
        }
        rows.push_back(std::move(row));
    }
    int name_width = 0, cell_width = 8;
    for (const Row& row : rows) {
        name_width = std::max(name_width, columns(row.name));
        for (const auto& cell : row.cells) cell_width = std::max(cell_width, columns(cell));
    }
    name_width = std::min(name_width, 24);
    cell_width = std::min(cell_width, 14);
    const int fitting =
        screen.width <= 0 ? static_cast<int>(count) : std::max(1, (screen.width - 2 - name_width) / (cell_width + 2));
    const std::size_t shown = std::min(count, static_cast<std::size_t>(fitting));
    for (const Row& row : rows) {
        Line line;
        line.add("  " + pad_right(row.name, name_width, screen), Style::dim);
        for (std::size_t i = 0; i < shown; ++i) line.add("  " + pad_left(row.cells[i], cell_width, screen), row.style);
        canvas.add(line);
    }
    return shown;
}

/// Adds what stopping saved: the time of the steps that were left out, less that of restarts. For scripts that start
/// slowly, restarts may take longer than these steps. Returns false if nothing is known to have been left out.
bool add_savings(Canvas& canvas, const Study& study, const StudyRecord& record) {
    const auto saved = savings(study, record);
    if (!saved || saved->left == 0) return false;
    const auto share = 100.0 * static_cast<double>(saved->left) / static_cast<double>(saved->of);
    const std::string left_out = std::to_string(saved->left) + " of " + steps_text(study, saved->of) + " (" +
                                 std::to_string(std::lround(share)) + " %)";
    const std::string restarts = std::to_string(saved->restarts) + (saved->restarts == 1 ? " restart" : " restarts");
    Line line;
    if (!saved->timed)
        line.add("Stopping left out ").add(left_out, Style::strong);
    else if (saved->seconds() > 0)
        line.add("Stopping saved ")
            .add(duration_text(saved->seconds()) + " of training", Style::strong)
            .add(": " + left_out + " were left out");
    else
        line.add("Stopping saved no time: " + left_out + " were left out, but restarts took longer");
    canvas.blank();
    canvas.add(line);
    std::string rules;
    for (const auto& [rule, by] : saved->rules)
        rules += (rules.empty() ? "" : ", ") + printable(rule) + " " + std::to_string(by.trials) + " (" +
                 steps_text(study, by.epochs) + ")";
    canvas.add("  trials stopped by " + rules, Style::dim);
    const std::string repeated =
        saved->repeated > 0 ? steps_text(study, saved->repeated) + " that trials repeated" : std::string();
    constexpr const char* after = " after a pause, a failure or an interruption";
    if (!saved->timed && (saved->restarts > 0 || saved->repeated > 0))
        canvas.add("  the time of " + restarts + after + " was not measured" +
                       (repeated.empty() ? "" : "; it includes " + repeated),
                   Style::dim);
    else if (saved->again_seconds > 0.01 * saved->left_seconds || saved->repeated > 0)
        canvas.add("  less " + duration_text(saved->again_seconds) + " for " + restarts + after +
                       (repeated.empty() ? "" : ", with " + repeated),
                   Style::dim);
    return true;
}

/// Adds how many trials went on although a rule would have paused them. `saved` is true below what stopping saved.
void add_spared(Canvas& canvas, const StudyRecord& record, bool saved) {
    const auto spared = std::count_if(record.trials.begin(), record.trials.end(),
                                      [](const TrialRecord& trial) { return trial.spared; });
    if (spared == 0) return;
    if (!saved) canvas.blank();
    canvas.add((saved ? "  " : "Stopping      ") + std::to_string(spared) +
                   (spared == 1 ? " trial was not paused: its restart" : " trials were not paused: their restart") +
                   " would have taken longer than the remaining steps (hpo.log has the times)",
               saved ? Style::dim : Style::plain);
}

}  // namespace

std::string savings_text(const Study& study, const StudyRecord& record) {
    Canvas canvas({0, std::numeric_limits<int>::max(), false, true});
    add_spared(canvas, record, add_savings(canvas, study, record));
    return canvas.text();
}

std::string draw_report(const Study& study, const StudyRecord& record, const Moment& moment, const ReportFacts& facts,
                        const Screen& screen) {
    // Lines are not cut, since their commands and paths must be complete. The terminal wraps them.
    Canvas canvas({0, std::numeric_limits<int>::max(), screen.colour, screen.utf8});
    Line head;
    head.add(study.name, Style::strong).add(": " + duration_text(moment.seconds));
    // Only the first line of the reason is shown. Lines of a log may follow, which were printed when it happened.
    if (!facts.end_reason.empty()) head.add(", " + printable(facts.end_reason.substr(0, facts.end_reason.find('\n'))));
    canvas.add(head);
    canvas.add("  " + states_text(record), Style::plain);

    // Trials that break constraints are shown only where no trial keeps them.
    const auto front = front_of(record, study.objective);
    auto ranked = study.objective.further.empty() || front.empty() ? ranking(record, study.objective) : front;
    const std::size_t all = ranked.size();
    if (const std::string note = constraints_text(record, study.objective); !note.empty()) {
        canvas.blank();
        canvas.add(note);
        std::erase_if(ranked, [&](const TrialRecord* trial) {
            return !front.empty() && !standing_of(*trial, study.objective)->feasible();
        });
    }
    canvas.blank();
    if (ranked.empty()) {
        canvas.add("No trial completed or was stopped with a value of " + study.objective.metric + ".");
    } else if (!study.objective.further.empty() && !front.empty()) {
        canvas.add(front_text(study, record));
        if (const std::size_t shown = add_best(canvas, study, front, screen); shown < front.size())
            canvas.add("  " + std::to_string(shown) + " of them are shown", Style::dim);
    } else {
        canvas.add(ranked.size() == 1 ? "Best by " + study.objective.metric
                                      : "Top " + std::to_string(std::min(ranked.size(), max_shown)) + " of " +
                                            std::to_string(all) + " by " + study.objective.metric);
        add_best(canvas, study, ranked, screen);
    }
    add_spared(canvas, record, add_savings(canvas, study, record));
    for (const std::string& line : facts.stopping) canvas.add("  " + printable(line), Style::dim);
    if (!facts.insights.empty()) canvas.blank();
    for (const std::string& line : facts.insights) canvas.add(printable(line));

    canvas.blank();
    canvas.add(Line().add("Database, logs and checkpoints  ").add(printable(facts.folder)));
    if (!front.empty() && !study.objective.further.empty()) {
        canvas.add(Line()
                       .add("Write one of the front          ")
                       .add("hpo best " + study.name + "/" + std::to_string(front.front()->number) + " > best.yaml",
                            Style::accent));
    } else if (!front.empty()) {
        const bool native = study.command.empty() && has_worker(study);
        canvas.add(Line()
                       .add(native ? "Train the best                  " : "Keep the best                   ")
                       .add("hpo best " + study.name + " > best.yaml", Style::accent));
        if (native)
            canvas.add(Line()
                           .add("                                ")
                           .add("hpo train best.yaml -o model.safetensors", Style::accent));
    }
    canvas.add(Line().add("Show the trials                 ").add("hpo top " + study.name, Style::accent));
    if (facts.may_continue)
        canvas.add(Line().add("Resume                          ").add("hpo run " + facts.source, Style::accent));
    return canvas.text();
}

}  // namespace hpo::view
