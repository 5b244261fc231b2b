#include "orchestrator/view/trial_list.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "hpo/printable.hpp"
#include "hpo/standing.hpp"
#include "hpo/step_name.hpp"
#include "hpo/text.hpp"
#include "orchestrator/view/summary.hpp"
#include "orchestrator/view/table.hpp"

namespace hpo::view {

namespace {

std::string parameters_cell(const Params& params) {
    std::string text;
    for (const auto& [name, value] : params) {
        if (!text.empty()) text += ' ';
        text.append(name).append(1, '=').append(value_text(value));
    }
    return text;
}

/// Returns "mean of 3 seeds, +- 0.012", or the trial whose configuration this one repeats.
std::string seeds_cell(const TrialRecord& trial) {
    return trial.repeat_of != 0 ? "of trial " + std::to_string(trial.repeat_of) : seeds_text(trial);
}

/// A running trial has no reason: the one in its record is that of an earlier attempt or of a pause.
std::string reason_cell(const TrialRecord& trial, const Objective& objective) {
    std::string reason;
    if (trial.state != TrialState::running)
        reason = (trial.rule.empty() ? "" : printable(trial.rule) + ": ") + printable_line(trial.reason);
    if (const std::string broken = broken_text(trial, objective); !broken.empty())
        reason += (reason.empty() ? "breaks a constraint: " : "; breaks a constraint: ") + broken;
    return reason;
}

}  // namespace

std::string draw_trial_list(const Study& study, const StudyRecord& record,
                            const std::map<std::int64_t, std::string>& tags, const Screen& screen) {
    const Objective& objective = study.objective;
    const auto others = judged_metrics(objective);
    std::vector<Table::Column> columns{{"TRIAL", Table::Align::right},
                                       {"STATE"},
                                       {"STEPS", Table::Align::right},
                                       {objective.metric, Table::Align::right}};
    for (const std::string& metric : others) columns.push_back({metric, Table::Align::right});
    if (!objective.further.empty()) columns.push_back({"FRONT"});
    const bool repeats = std::ranges::any_of(record.trials, [](auto& trial) { return trial.repeat_of != 0; });
    if (repeats) columns.push_back({"SEEDS"});
    if (!tags.empty()) columns.push_back({"TAGS"});
    columns.insert(columns.end(), {{"PARAMETERS"}, {"REASON"}});
    const auto front = objective.further.empty() ? std::vector<const TrialRecord*>() : front_of(record, objective);
    Table table(columns);
    for (const TrialRecord& trial : record.trials) {
        std::vector<std::string> cells{std::to_string(trial.number), std::string(to_text(trial.state)),
                                       progress_text(study, trial.steps()),
                                       trial.value ? short_number(*trial.value) : "-"};
        for (const std::string& metric : others) {
            const auto value = metric_that_counts(trial, metric);
            cells.push_back(value ? short_number(*value) : "-");
        }
        const bool in_front = std::find(front.begin(), front.end(), &trial) != front.end();
        if (!objective.further.empty()) cells.emplace_back(in_front ? "yes" : "");
        if (repeats) cells.push_back(seeds_cell(trial));
        if (!tags.empty()) {
            const auto found = tags.find(trial.number);
            cells.push_back(found == tags.end() ? "" : found->second);
        }
        cells.push_back(parameters_cell(trial.params));
        cells.push_back(reason_cell(trial, objective));
        table.add(cells);
    }
    return study.name + ": " + states_text(record) + "\n" + (table.empty() ? "" : table.draw(screen));
}

std::string draw_front(const Study& study, const StudyRecord& record, const Screen& screen) {
    const Objective& objective = study.objective;
    std::vector<Table::Column> columns{{"TRIAL", Table::Align::right}, {objective.metric, Table::Align::right}};
    const auto others = judged_metrics(objective);
    for (const std::string& metric : others) columns.push_back({metric, Table::Align::right});
    columns.push_back({"PARAMETERS"});
    Table table(columns);
    for (const TrialRecord* trial : front_of(record, objective)) {
        std::vector<std::string> cells{std::to_string(trial->number), short_number(*trial->value)};
        for (const std::string& metric : others) cells.push_back(short_number(*metric_that_counts(*trial, metric)));
        cells.push_back(parameters_cell(trial->params));
        table.add(cells);
    }
    const std::string broken = constraints_text(record, objective);
    return front_text(study, record) + "\n" + table.draw(screen) + (broken.empty() ? "" : broken + "\n") +
           "Write one of them: hpo best " + study.name + "/NUMBER > best.yaml\n";
}

}  // namespace hpo::view
