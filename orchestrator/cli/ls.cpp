#include <CLI/App.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "hpo/printable.hpp"
#include "hpo/standing.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/notes.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/lookup/study_state.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/view/table.hpp"
#include "orchestrator/view/terminal.hpp"
#include "orchestrator/view/trial_list.hpp"

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

int list_all(bool as_json) {
    Json studies = Json::array();
    const std::vector<StudyFolder> folders = list_studies(runs_folder());
    std::vector<std::string> tags;
    for (const StudyFolder& folder : folders) tags.push_back(tags_text(readable_notes(folder).study));
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
            table.add(cells);
        };
        const auto snapshot = take_snapshot(folder, TrialParts::standing);
        if (!snapshot) {
            studies.push_back({{"study", folder.name()}, {"error", snapshot.error().message}});
            const std::string& why = snapshot.error().message;  // a sentence, its place, and then lines of the file
            add({folder.name(), "unreadable", "-", "-", "-", "-"},
                printable_line(why.substr(0, why.find('\n', why.find('\n') + 1))));
            continue;
        }
        warn_of_missing_results(*snapshot);
        if (as_json) {
            studies.push_back(study_json(*snapshot));
            continue;
        }
        const TrialRecord* best = best_trial(snapshot->record, snapshot->study.objective);
        add({snapshot->study.name, std::string(state_of(*snapshot)), ended_of_budget(*snapshot),
             best ? short_number(*best->value) : "-", metrics_text(snapshot->study.objective),
             best ? trials_text(*snapshot, *best) : "-"},
            printable(folder.path.string()));
    }
    for (const StudyFolder& folder : list_submitted_studies(runs_folder())) {
        studies.push_back({{"study", folder.name()}, {"error", "a job of Slurm was submitted, and has not begun"}});
        std::vector<std::string> cells{folder.name(), "submitted", "-", "-", "-", "-"};
        if (tagged) cells.emplace_back();
        cells.push_back(printable(folder.path.string()));
        table.add(cells);
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
    const StudySnapshot snapshot =
        snapshot_or_fail(choose_study(argument), as_json ? TrialParts::shown : TrialParts::listed);
    if (as_json) {
        print(dump(trials_json(snapshot)));
        return 0;
    }
    std::map<std::int64_t, std::string> tags;
    const Notes notes = readable_notes(snapshot.folder);
    for (const auto& [number, remarks] : notes.trials)
        if (!remarks.tags.empty()) tags[number] = tags_text(remarks);
    print(view::draw_trial_list(snapshot.study, snapshot.record, tags, view::screen_of_stdout()));
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
