#include "orchestrator/view/report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "hpo/training_seconds.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::view {
namespace {

constexpr std::size_t max_shown = 5, max_front_shown = 12;  ///< trials

struct TableColumn {
    std::string title;
    std::vector<std::string> cells = {};
    Style style = Style::plain;
};

/// Returns the measurements of the trials: number, values, seeds, the step of the best value, and time.
std::vector<TableColumn> measured_columns(const Study& study, const std::vector<const TrialRecord*>& trials,
                                          const TrialRecord* best) {
    const auto column = [&](const std::string& title, Style style, const auto& cell) {
        TableColumn one{title, {}, style};
        for (const TrialRecord* trial : trials) one.cells.push_back(cell(*trial));
        return one;
    };
    const auto number_or_dash = [](const std::optional<double>& number) {
        return number ? short_number(*number) : std::string("-");
    };
    std::vector<TableColumn> all;
    all.push_back(column("TRIAL", Style::plain, [&](const TrialRecord& trial) {
        return (&trial == best ? "*" : "") + std::to_string(trial.number);
    }));
    all.push_back(column(study.objective.metric, Style::strong,
                         [](const TrialRecord& trial) { return short_number(*trial.value); }));
    auto others = judged_metrics(study.objective);
    if (const std::string error = standard_error_of(study.objective.metric); metric_that_counts(*trials[0], error))
        others.push_back(error);
    for (std::size_t m = 0; m < others.size(); ++m)
        all.push_back(column(others[m], m < study.objective.further.size() ? Style::strong : Style::plain,
                             [&](const TrialRecord& t) { return number_or_dash(metric_that_counts(t, others[m])); }));
    if (std::any_of(trials.begin(), trials.end(), [](const TrialRecord* trial) { return !trial->seeds.empty(); })) {
        all.push_back(column("SEEDS", Style::plain, [](const TrialRecord& trial) {
            return std::to_string(std::max<std::size_t>(1, trial.seeds.size()));
        }));
        all.push_back(column("DEVIATION", Style::plain,
                             [&](const TrialRecord& trial) { return number_or_dash(deviation_of_seeds(trial)); }));
    }
    all.push_back(column(study.native() ? "EPOCH" : "STEP", Style::plain,
                         [&](const TrialRecord& trial) { return progress_text(study, trial.best_step); }));
    all.push_back(column("TIME", Style::plain, [](const TrialRecord& trial) {
        const auto seconds = seconds_taken(trial);
        return seconds ? duration_text(*seconds) : std::string("-");
    }));
    return all;
}

/// Returns a column for each parameter that differs among the trials. The others are added to `same`, as text.
std::vector<TableColumn> parameter_columns(const Study& study, const std::vector<const TrialRecord*>& trials,
                                           std::string& same) {
    std::vector<TableColumn> all;
    for (const Dimension& dimension : study.space) {
        TableColumn one{dimension.name};
        for (const TrialRecord* trial : trials) {
            const auto found = trial->params.find(dimension.name);
            one.cells.push_back(found == trial->params.end() ? "-" : value_text(found->second));
        }
        const bool differs = std::any_of(one.cells.begin(), one.cells.end(),
                                         [&](const std::string& cell) { return cell != one.cells.front(); });
        if (differs || trials.size() == 1)
            all.push_back(std::move(one));
        else if (one.cells.front() != "-")
            same += (same.empty() ? "" : ", ") + dimension.name + " " + one.cells.front();
    }
    return all;
}

/// Adds a table of the first trials of `ranked`, with the parameters that fit the screen's width. `best` has a mark.
/// Returns the number of trials.
std::size_t add_best(Canvas& canvas, const Study& study, std::vector<const TrialRecord*> ranked,
                     const TrialRecord* best, const Screen& screen) {
    constexpr int widest = 24;
    ranked.resize(std::min(ranked.size(), study.objective.further.empty() ? max_shown : max_front_shown));
    auto table = measured_columns(study, ranked, best);
    const std::size_t measured = table.size();
    std::string same;
    for (TableColumn& column : parameter_columns(study, ranked, same)) table.push_back(std::move(column));
    std::vector<int> widths;
    int used = 0;
    for (const TableColumn& column : table) {
        int width = columns(column.title);
        for (const std::string& cell : column.cells) width = std::max(width, columns(cell));
        width = std::min(width, widest);
        if (screen.width > 0 && widths.size() >= measured && used + 2 + width > screen.width) break;
        widths.push_back(width);
        used += 2 + width;
    }
    Line head;
    for (std::size_t c = 0; c < widths.size(); ++c)
        head.add("  " + pad_left(printable(table[c].title), widths[c], screen), Style::dim);
    canvas.add(head);
    for (std::size_t row = 0; row < ranked.size(); ++row) {
        Line line;
        for (std::size_t c = 0; c < widths.size(); ++c)
            line.add("  " + pad_left(table[c].cells[row], widths[c], screen), table[c].style);
        canvas.add(line);
    }
    if (!same.empty()) canvas.add("  all with " + same, Style::dim);
    if (const std::size_t more = table.size() - widths.size(); more > 0)
        canvas.add("  and " + counted(static_cast<std::int64_t>(more), "more parameter") + ": hpo show " + study.name +
                       "/" + std::to_string(ranked.front()->number),
                   Style::dim);
    return ranked.size();
}

std::int64_t count_spared(const StudyRecord& record) {
    return std::count_if(record.trials.begin(), record.trials.end(),
                         [](const TrialRecord& trial) { return trial.spared; });
}

/// Returns the savings of stopping as one line, or an empty text if nothing is known to have been left out.
std::string savings_line(const Study& study, const StudyRecord& record) {
    const auto saved = savings(study, record);
    const std::int64_t spared = count_spared(record);
    const std::string not_paused =
        spared == 0 ? "" : std::to_string(spared) + " not paused, as a restart takes longer than the rest";
    if (!saved || saved->left == 0) return not_paused.empty() ? "" : "Stopping      " + not_paused;
    const auto share = std::lround(100.0 * static_cast<double>(saved->left) / static_cast<double>(saved->of));
    std::string rules;
    std::int64_t trials = 0;
    for (const auto& [rule, by] : saved->rules)
        rules += (rules.empty() ? "" : " and ") + printable(rule), trials += by.trials;
    const std::string left_out = std::to_string(saved->left) + " of " + steps_text(study, saved->of) + " (" +
                                 std::to_string(share) + " %) left out in " + counted(trials, "trial") + " by " +
                                 rules + (not_paused.empty() ? "" : "; ") + not_paused;
    if (!saved->timed) return "Stopping      " + left_out;
    if (saved->seconds() > 0)
        return "Stopping      saved " + duration_text(saved->seconds()) + " of training: " + left_out;
    return "Stopping      saved no time, as restarts took longer: " + left_out;
}

/// Returns the hosts of a study's trials in the order of their first ones, as one line; empty where the study has one.
std::string hosts_line(const StudyRecord& record) {
    constexpr std::size_t most = 8;
    std::vector<std::pair<std::string, std::int64_t>> hosts;
    for (const TrialRecord& trial : record.trials) {
        const std::string& name = trial.allocation->host;
        if (name.empty()) continue;
        const auto found = std::ranges::find(hosts, name, [](const auto& host) { return host.first; });
        if (found == hosts.end())
            hosts.emplace_back(name, 1);
        else
            ++found->second;
    }
    std::string line;
    for (std::size_t i = 0; i < std::min(hosts.size(), most); ++i) {
        const auto& [name, trials] = hosts[i];
        line += i == 0 ? "Hosts         " + printable(name) + " (" + counted(trials, "trial") + ")"
                       : ", " + printable(name) + " (" + std::to_string(trials) + ")";
    }
    return line + (hosts.size() > most ? " and " + std::to_string(hosts.size() - most) + " more" : "");
}

/// Returns the trial that failed last; of a study without a value also one that diverged; nullptr if there is none.
const TrialRecord* last_failure(const StudyRecord& record, bool fruitless) {
    const auto failed = [&](TrialState state) {
        const auto found = std::find_if(record.trials.rbegin(), record.trials.rend(),
                                        [&](const TrialRecord& trial) { return trial.state == state; });
        return found == record.trials.rend() ? nullptr : &*found;
    };
    const TrialRecord* last = failed(TrialState::failed);
    return last || !fruitless ? last : failed(TrialState::diverged);
}

/// Returns why the last trial failed, with the command that shows all of it, as one line. Empty if none has failed.
std::string failure_line(const Study& study, const StudyRecord& record, bool fruitless) {
    const TrialRecord* last = last_failure(record, fruitless);
    if (!last || last->reason.empty()) return {};
    const std::string trial = std::to_string(last->number);
    std::string reason = last->reason.substr(0, last->reason.find('\n'));
    while (reason.ends_with(':') || reason.ends_with(' ')) reason.pop_back();
    return "Failed        trial " + trial + ": " + reason + " (hpo show " + study.name + "/" + trial + ")";
}

/// Returns the answer: "early: best val_loss 0.2057 (trial 38) from 40 trials in 6.6 s", or that there is none.
Line head_line(const Study& study, const StudyRecord& record, const Moment& moment) {
    const std::string extent = counted(count_started(record), "trial") + " in " + duration_text(moment.seconds);
    Line head;
    head.add(study.name, Style::strong).add(": ");
    if (!study.objective.further.empty()) return head.add(extent);
    const TrialRecord* best = best_trial(record, study.objective);
    if (!best) return head.add("no best " + study.objective.metric + " from " + extent);
    const std::string seeds = seeds_text(*best);
    return head.add("best " + study.objective.metric + " ")
        .add(short_number(*best->value), Style::strong)
        .add(" (trial " + std::to_string(best->number) + (seeds.empty() ? "" : ", " + seeds) + ") from " + extent);
}

/// Adds the folder and the commands that come next.
void add_commands(Canvas& canvas, const Study& study, const TrialRecord* best, const ReportFacts& facts) {
    const auto command = [&](const char* label, const std::string& text) {
        canvas.add(Line().add(label).add(text, Style::accent));
    };
    if (best && !study.objective.further.empty()) {
        command("Keep one      ", "hpo best " + study.name + "/" + std::to_string(best->number) + " > best.yaml");
    } else if (best) {
        command("Keep the best ", "hpo best " + study.name + " > best.yaml");
        if (study.native()) command("Train it      ", "hpo train best.yaml -o model.safetensors");
    }
    command("Look at it    ", "hpo top " + study.name + ", hpo report " + study.name);
    if (facts.may_continue) command("Resume        ", "hpo run " + facts.source);
    canvas.add(Line().add("Stored in     ").add(printable(facts.folder)));
}

/// Adds the savings of stopping: the time of the steps that were left out, less that of restarts. For scripts that
/// start slowly, restarts may take longer than these steps. Returns false if nothing is known to have been left out.
bool add_savings(Canvas& canvas, const Study& study, const StudyRecord& record) {
    const auto saved = savings(study, record);
    if (!saved || saved->left == 0) return false;
    const auto share = 100.0 * static_cast<double>(saved->left) / static_cast<double>(saved->of);
    const std::string left_out = std::to_string(saved->left) + " of " + steps_text(study, saved->of) + " (" +
                                 std::to_string(std::lround(share)) + " %)";
    const std::string restarts = counted(saved->restarts, "restart");
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

/// Adds how many trials went on although a rule would have paused them. `saved` is true below the savings of stopping.
void add_spared(Canvas& canvas, const StudyRecord& record, bool saved) {
    const std::int64_t spared = count_spared(record);
    if (spared == 0) return;
    if (!saved) canvas.blank();
    canvas.add((saved ? "  " : "Stopping      ") +
                   counted(spared, "trial was not paused: its restart", "trials were not paused: their restart") +
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
    canvas.add(head_line(study, record, moment));
    // Only the first line of the reason is shown. Lines of a log may follow, which were printed when it happened.
    const std::string reason = printable(facts.end_reason.substr(0, facts.end_reason.find('\n')));
    std::string states = states_text(record);
    if (facts.failed && states.find(" running") != std::string::npos)
        states.replace(states.find(" running"), std::string(" running").size(), " unfinished");
    canvas.add("  " + reason + (reason.empty() ? "" : ": ") + states);

    // Trials that break constraints are shown only where no trial keeps them.
    const auto front = front_of(record, study.objective);
    auto ranked = study.objective.further.empty() || front.empty() ? ranking(record, study.objective) : front;
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
        if (const std::size_t shown = add_best(canvas, study, front, nullptr, screen); shown < front.size())
            canvas.add("  " + std::to_string(shown) + " of them are shown", Style::dim);
    } else {
        add_best(canvas, study, ranked, best_trial(record, study.objective), screen);
    }

    auto insights = facts.insights;
    const std::string failure = facts.reason_follows ? "" : failure_line(study, record, ranked.empty());
    for (std::string line : {failure, savings_line(study, record), hosts_line(record)})
        if (!line.empty())
            insights.insert(std::find_if(insights.begin(), insights.end(),
                                         [](const std::string& next) { return next.starts_with("Next"); }),
                            std::move(line));
    if (!insights.empty()) canvas.blank();
    for (const std::string& line : insights) canvas.add(printable(line));

    canvas.blank();
    add_commands(canvas, study, front.empty() ? nullptr : front.front(), facts);
    return canvas.text();
}

}  // namespace hpo::view
