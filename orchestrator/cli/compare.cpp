// hpo compare: trials side by side, of one study or of several.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/lookup/trial_choice.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/view/summary.hpp"
#include "orchestrator/view/table.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {
namespace {

/// A trial of the comparison.
struct Compared {
    std::string name;  ///< STUDY/NUMBER
    Objective objective;
    TrialRecord trial;
    std::string steps;     ///< "13/20"
    Params configuration;  ///< the fixed values of the study and the trial's parameters
};

Compared read(const std::string& argument) {
    const TrialChoice choice = split_trial(argument, "", /*trial_required=*/false);
    const StudySnapshot snapshot = snapshot_or_fail(choose_study(choice.study));
    const Objective& objective = snapshot.study.objective;
    if (!choice.trial && !objective.further.empty())
        throw Fatal("study " + snapshot.study.name + " has several objectives and no best trial: name one, such as " +
                        snapshot.study.name + "/1",
                    2);
    const TrialRecord* trial = choice.trial ? &snapshot.trial(*choice.trial) : best_trial(snapshot.record, objective);
    if (trial == nullptr)
        throw Fatal("study " + snapshot.study.name + " has no trial with a value of " + objective.metric + " yet");
    Compared compared{snapshot.study.name + '/' + std::to_string(trial->number), objective, *trial,
                      progress_text(snapshot.study, trial->steps()), snapshot.study.fixed};
    for (const auto& [name, value] : trial->params) compared.configuration.insert_or_assign(name, value);
    return compared;
}

/// The keys whose values differ, or which some configurations lack.
std::set<std::string> differing(const std::vector<Compared>& all) {
    std::set<std::string> names, differ;
    for (const Compared& one : all)
        for (const auto& entry : one.configuration) names.insert(entry.first);
    for (const std::string& name : names) {
        const auto first = all.front().configuration.find(name);
        for (const Compared& one : all) {
            const auto found = one.configuration.find(name);
            const bool lacks = found == one.configuration.end(), first_lacks = first == all.front().configuration.end();
            if (lacks != first_lacks || (!lacks && found->second != first->second)) differ.insert(name);
        }
    }
    return differ;
}

std::string text(const std::vector<Compared>& all) {
    std::vector<view::Table::Column> columns{{""}};
    for (const Compared& one : all) columns.push_back({one.name, view::Table::Align::right});
    view::Table table(columns);
    const auto row = [&](const std::string& title, const auto& cell_of) {
        std::vector<std::string> cells{title};
        for (const Compared& one : all) cells.push_back(printable_line(cell_of(one)));
        table.add(cells);
    };
    const auto metric_row = [&](const std::string& metric) {
        row(metric, [&](const Compared& one) {
            const bool objective = metric == one.objective.metric;
            const auto value = objective ? one.trial.value : metric_that_counts(one.trial, metric);
            return value ? short_number(*value) : std::string("-");
        });
    };
    std::set<std::string> metrics, shown;
    for (const Compared& one : all)
        if (shown.insert(one.objective.metric).second) metric_row(one.objective.metric);
    for (const Compared& one : all)
        for (const std::string& metric : view::judged_metrics(one.objective))
            if (shown.insert(metric).second) metric_row(metric);
    row("state", [](const Compared& one) { return std::string(to_text(one.trial.state)); });
    row("steps", [](const Compared& one) { return one.steps; });
    const auto differ = differing(all);
    for (const std::string& name : differ)
        row(name, [&](const Compared& one) {
            const auto found = one.configuration.find(name);
            return found == one.configuration.end() ? std::string("-") : view::value_text(found->second);
        });
    std::string same;
    for (const auto& [name, value] : all.front().configuration)
        if (!differ.contains(name)) same += (same.empty() ? "" : ", ") + name + ' ' + view::value_text(value);
    return table.draw(view::screen_of_stdout()) +
           (same.empty() ? "" : "the same in all: " + printable_line(same) + '\n');
}

std::string json(const std::vector<Compared>& all) {
    nlohmann::ordered_json trials = nlohmann::ordered_json::array();
    for (const Compared& one : all) {
        nlohmann::ordered_json trial{
            {"trial", one.name}, {"metric", one.objective.metric}, {"state", to_text(one.trial.state)}};
        if (one.trial.value) trial["value"] = *one.trial.value;
        trial["configuration"] = wire::from(one.configuration);
        trials.push_back(std::move(trial));
    }
    const nlohmann::ordered_json json{{"schema", json_schema}, {"trials", trials}, {"differing", differing(all)}};
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace

CommandAction compare(CLI::App& app) {
    struct Arguments {
        std::vector<std::string> which;
        bool json = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    app.add_option("WHICH", arguments->which, "At least two: STUDY/NUMBER, or a study, whose best trial is compared")
        ->required()
        ->expected(1, 64);
    app.add_flag("--json", arguments->json, "One JSON object for programs");
    return [arguments] {
        if (arguments->which.size() < 2) {
            const std::string one = arguments->which.front(), study = one.substr(0, one.find('/'));
            throw Fatal("hpo compare takes at least two: " + one + " and another trial of it, as in hpo compare " +
                            one + ' ' + study + "/2 (hpo ls " + study + " lists them), or another study",
                        2);
        }
        std::vector<Compared> all;
        for (const std::string& one : arguments->which) all.push_back(read(one));
        print(arguments->json ? json(all) : text(all));
        return 0;
    };
}

}  // namespace hpo::commands
