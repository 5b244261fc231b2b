#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/notes.hpp"
#include "orchestrator/cli/study_state.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/view/summary.hpp"
#include "orchestrator/view/table.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {
namespace {

using Json = nlohmann::ordered_json;
using view::Table;

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'; }

/// The best trial, or how many the Pareto front has.
std::string trials_text(const StudySnapshot& snapshot, const TrialRecord& best) {
    if (snapshot.study.objective.further.empty()) return std::to_string(best.number);
    return front_size(snapshot);
}

/// "mean of 3 seeds, +- 0.012", or the trial whose configuration this one repeats.
std::string seeds_cell(const TrialRecord& trial) {
    return trial.repeat_of != 0 ? "of trial " + std::to_string(trial.repeat_of) : view::seeds_text(trial);
}

/// Damaged notes count as none here, as hpo note says that they are.
Notes notes_of(const StudyFolder& folder) {
    auto notes = read_notes(folder);
    return notes ? *std::move(notes) : Notes{};
}

int list_all(bool as_json) {
    Json studies = Json::array();
    const std::vector<StudyFolder> folders = list_studies(runs_folder());
    std::vector<std::string> tags;
    for (const StudyFolder& folder : folders) tags.push_back(tags_text(notes_of(folder).study));
    const bool tagged = std::any_of(tags.begin(), tags.end(), [](const std::string& each) { return !each.empty(); });
    std::vector<Table::Column> columns{{"STUDY"},
                                       {"STATE"},
                                       {"ENDED", Table::Align::right},
                                       {"BEST", Table::Align::right},
                                       {"METRIC"},
                                       {"TRIAL", Table::Align::right}};
    if (tagged) columns.push_back({"TAGS"});
    columns.push_back({"FOLDER"});
    Table table(columns);
    for (std::size_t i = 0; i < folders.size(); ++i) {
        const StudyFolder& folder = folders[i];
        const auto add = [&](std::vector<std::string> cells, const std::string& last) {
            if (tagged) cells.push_back(tags[i]);
            cells.push_back(last);
            table.add(std::move(cells));
        };
        const auto snapshot = take_snapshot(folder, Parameters::none);
        if (!snapshot) {
            studies.push_back({{"study", folder.name()}, {"error", snapshot.error().message}});
            add({folder.name(), "unreadable", "-", "-", "-", "-"}, printable(snapshot.error().message));
            continue;
        }
        studies.push_back(study_json(*snapshot));
        const TrialRecord* best = best_trial(snapshot->record, snapshot->study.objective);
        add({snapshot->study.name, std::string(state_of(*snapshot)),
             std::to_string(count_ended(snapshot->record)) + "/" + std::to_string(snapshot->study.budget.trials),
             best ? short_number(*best->value) : "-", metrics_text(snapshot->study.objective),
             best ? trials_text(*snapshot, *best) : "-"},
            printable(folder.path.string()));
    }
    if (as_json)
        print(dump({{"schema", json_schema}, {"studies", std::move(studies)}}));
    else if (table.empty())
        print("No study in " + printable(runs_folder().string()) + "/ yet: hpo run FILE.yaml starts one.\n");
    else
        print(table.draw(view::screen_of_stdout()));
    return 0;
}

int list_trials(const std::string& argument, bool as_json) {
    const StudySnapshot snapshot = snapshot_or_fail(choose_study(argument));
    if (as_json) {
        print(dump(trials_json(snapshot)));
        return 0;
    }
    const Objective& objective = snapshot.study.objective;
    const auto others = view::judged_metrics(objective);
    std::vector<Table::Column> columns{{"TRIAL", Table::Align::right},
                                       {"STATE"},
                                       {"STEPS", Table::Align::right},
                                       {objective.metric, Table::Align::right}};
    for (const std::string& metric : others) columns.push_back({metric, Table::Align::right});
    if (!objective.further.empty()) columns.push_back({"FRONT"});
    const auto& trials = snapshot.record.trials;
    const bool repeats = std::any_of(trials.begin(), trials.end(), [](auto& trial) { return trial.repeat_of != 0; });
    if (repeats) columns.push_back({"SEEDS"});
    const Notes notes = notes_of(snapshot.folder);
    const bool tagged = std::any_of(notes.trials.begin(), notes.trials.end(),
                                    [](const auto& trial) { return !trial.second.tags.empty(); });
    if (tagged) columns.push_back({"TAGS"});
    columns.insert(columns.end(), {{"PARAMETERS"}, {"REASON"}});
    const auto front =
        objective.further.empty() ? std::vector<const TrialRecord*>() : front_of(snapshot.record, objective);
    Table table(columns);
    for (const TrialRecord& trial : snapshot.record.trials) {
        std::string parameters;
        for (const auto& [name, value] : trial.params)
            parameters += (parameters.empty() ? "" : " ") + name + "=" + view::value_text(value);
        std::vector<std::string> cells{std::to_string(trial.number), std::string(to_text(trial.state)),
                                       progress_text(snapshot.study, trial.steps()),
                                       trial.value ? short_number(*trial.value) : "-"};
        for (const std::string& metric : others) {
            const auto value = metric_that_counts(trial, metric);
            cells.push_back(value ? short_number(*value) : "-");
        }
        const bool in_front = std::find(front.begin(), front.end(), &trial) != front.end();
        if (!objective.further.empty()) cells.emplace_back(in_front ? "yes" : "");
        if (repeats) cells.push_back(seeds_cell(trial));
        if (tagged) cells.push_back(tags_text(notes.of(trial.number)));
        std::string reason = (trial.rule.empty() ? "" : printable(trial.rule) + ": ") + printable_line(trial.reason);
        if (const std::string broken = view::broken_text(trial, objective); !broken.empty())
            reason += (reason.empty() ? "breaks a constraint: " : "; breaks a constraint: ") + broken;
        cells.insert(cells.end(), {parameters, std::move(reason)});
        table.add(std::move(cells));
    }
    print(snapshot.study.name + ": " + view::states_text(snapshot.record) + "\n" +
          (table.empty() ? "" : table.draw(view::screen_of_stdout())));
    return 0;
}

}  // namespace

CommandAction ls(CLI::App& app) {
    struct Arguments {
        std::string study;
        bool json = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    app.add_option("STUDY", arguments->study, "A study's name, folder or YAML file; default: list all studies");
    app.add_flag("--json", arguments->json, "One JSON object for programs");
    return [arguments] {
        return arguments->study.empty() ? list_all(arguments->json) : list_trials(arguments->study, arguments->json);
    };
}

}  // namespace hpo::commands
