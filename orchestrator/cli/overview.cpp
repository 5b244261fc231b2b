// hpo without a command: the latest studies, and the next command to give.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "hpo/version.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/complete.hpp"
#include "orchestrator/lookup/study_state.hpp"
#include "orchestrator/view/table.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using view::Table;

constexpr std::size_t shown_studies = 4;

/// Returns "hpo top phase1        watch it".
std::string step(const std::string& command, const std::string& purpose) {
    constexpr std::size_t width = 34;
    return "  " + command + std::string(command.size() < width ? width - command.size() : 2, ' ') + purpose + '\n';
}

/// Returns a study file to begin with, or nothing.
std::string study_file_here() {
    std::vector<std::string> files;
    std::error_code error;
    for (fs::directory_iterator entry(".", error), end; !error && entry != end; entry.increment(error))
        if (entry->path().extension() == ".yaml") files.push_back(entry->path().filename().string());
    if (!files.empty()) return *std::min_element(files.begin(), files.end());
    for (const char* ready : {"studies/debug.yaml", "/usr/share/doc/hpo/studies/debug.yaml"})
        if (std::error_code ignored; fs::exists(ready, ignored)) return ready;
    return {};
}

std::string first_steps() {
    const std::string file = study_file_here();
    return "No study in " + printable(runs_folder().string()) + "/ yet. Next:\n" +
           (file.empty() ? ""
                         : step("hpo run " + printable(file), "search; Ctrl-C ends it, and the same command goes on")) +
           step("hpo init DATA.csv", "write a first study for data, or for a script") +
           step("hpo doctor", "check this installation") + step("hpo --help", "list all commands");
}

/// Returns the steps with a command that takes a best trial, none while there is none.
std::string steps_with_best(const Study& study, const TrialRecord* best) {
    if (!best) return {};
    if (!study.objective.further.empty()) return step("hpo best " + study.name + " --format table", "its Pareto front");
    if (study.script()) return step("hpo best " + study.name, "the best configuration");
    return step("hpo best " + study.name + " > best.yaml", "the best configuration, for hpo train");
}

std::string next_steps(const Study& study, const TrialRecord* best, std::string_view state) {
    const std::string& name = study.name;
    std::string text = "Next:\n";
    if (state == "running") text += step("hpo top " + name, "watch its trials") + step("hpo stop " + name, "end it");
    if (state == "interrupted" && study.has_worker()) text += step("hpo run " + name, "go on with it");
    if (state == "failed") text += step("hpo show " + name, "find out why");
    text += steps_with_best(study, best);
    if (state == "finished") text += step("hpo report " + name, "a page with charts");
    return text + step("hpo --help", "list all commands");
}

/// Returns the best value; of several objectives the size of the Pareto front.
std::string best_cell(const StudySnapshot& snapshot, const TrialRecord* best) {
    if (!best) return "-";
    return snapshot.study.objective.further.empty() ? short_number(*best->value) : front_size(snapshot);
}

}  // namespace

int print_overview() {
    const auto studies = list_studies(runs_folder());
    std::string next;
    Table table({{"STUDY"}, {"STATE"}, {"ENDED", Table::Align::right}, {"BEST", Table::Align::right}, {"METRIC"}});
    for (std::size_t i = 0; i < std::min(studies.size(), shown_studies); ++i) {
        const auto snapshot = take_snapshot(studies[i], TrialParts::standing);
        if (!snapshot) {
            table.add({studies[i].name(), "unreadable", "-", "-", "hpo ls"});
            continue;
        }
        warn_of_missing_results(*snapshot);
        const std::string_view state = state_of(*snapshot);
        const TrialRecord* best = best_trial(snapshot->record, snapshot->study.objective);
        table.add({snapshot->study.name, std::string(state), ended_of_budget(*snapshot), best_cell(*snapshot, best),
                   metrics_text(snapshot->study.objective)});
        if (next.empty()) next = next_steps(snapshot->study, best, state);
    }
    const std::string more = studies.size() <= shown_studies
                                 ? ""
                                 : "and " + std::to_string(studies.size() - shown_studies) + " more: hpo ls\n";
    print(std::string("hpo ") + version + '\n' +
          (studies.empty() ? first_steps()
                           : table.draw(view::screen_of_stdout()) + more + (next.empty() ? first_steps() : next)));
    return 0;
}

}  // namespace hpo
