// hpo importance: shows which parameters matter and how certain the best trial is.
#include "orchestrator/analysis/importance.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <system_error>

#include "hpo/printable.hpp"
#include "hpo/step_name.hpp"
#include "hpo/units.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/importance.hpp"
#include "orchestrator/cli/repeat.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/study/study_file.hpp"
#include "orchestrator/telemetry/session_telemetry.hpp"
#include "orchestrator/telemetry/verdict.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo {

namespace {

/// Reads the complete curves of the trials that are analysed into the snapshot.
Result<void> read_analysed_steps(StudySnapshot& snapshot) {
    for (const std::int64_t trial : analysis::analysed_trials(snapshot.study, snapshot.record))
        if (auto read = snapshot.read_steps(trial); !read) return read;
    return {};
}

/// Returns what hpo best --repeat has trained of the configurations.
std::vector<Repeated> again_in_own_study(const StudySnapshot& snapshot,
                                         const std::vector<const TrialRecord*>& configurations) {
    std::error_code ignored;
    const StudyFolder folder = study_folder(repeat_study(snapshot.study).name);
    if (!std::filesystem::exists(folder.database(), ignored)) return {};
    const auto repeats = take_snapshot(folder);
    if (!repeats) return {};
    return rank_repeats(repeats->record, configurations, snapshot.study.objective.direction);
}

}  // namespace

analysis::Repeats repeats_of(const StudySnapshot& snapshot) {
    const auto configurations = ranking(snapshot.record, snapshot.study.objective);
    analysis::Repeats found;
    double squares = 0, degrees_of_freedom = 0;
    const auto add = [&](std::size_t seeds, double deviation) {
        const double degrees = static_cast<double>(seeds) - 1;
        squares += degrees * deviation * deviation;
        degrees_of_freedom += degrees;
    };
    for (const TrialRecord* configuration : configurations)
        if (const auto deviation = deviation_of_seeds(*configuration)) add(configuration->seeds.size(), *deviation);
    if (!configurations.empty()) found.of_best = static_cast<std::int64_t>(configurations.front()->seeds.size());
    for (const Repeated& repeated : again_in_own_study(snapshot, configurations)) {
        if (!configurations.empty() && repeated.first == configurations.front())
            found.of_best += static_cast<std::int64_t>(repeated.values.size());
        if (repeated.deviation) add(repeated.values.size(), *repeated.deviation);
    }
    // Without any variation the seed has no effect, and the repeats say nothing about noise.
    if (squares > 0) found.deviation = std::sqrt(squares / degrees_of_freedom);
    return found;
}

std::vector<std::string> labelled_lines(const std::string& label, const std::string& text) {
    constexpr std::size_t indent = 14, width = 80;
    std::vector<std::string> lines{label + std::string(indent - label.size(), ' ')};
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (lines.back().size() + word.size() + 1 > width) lines.emplace_back(indent, ' ');
        lines.back() += (lines.back().size() > indent ? " " : "") + word;
    }
    return lines;
}

std::string limit_of_machine(const StudySnapshot& snapshot) {
    const auto rows = snapshot.store->telemetry();
    if (!rows) return {};
    const TelemetrySummary summary = summarise(*rows);
    if (!enough_for_a_verdict(summary)) return {};
    const bool native = snapshot.study.command.empty() && has_worker(snapshot.study);
    return verdict(summary, {.cores = read_host().cores, .one_core_a_trial = native}).front();
}

namespace {

std::vector<std::string> machine_lines(const StudySnapshot& snapshot) {
    const std::string limit = limit_of_machine(snapshot);
    return limit.empty() ? std::vector<std::string>() : labelled_lines("Machine", limit);
}

std::vector<std::string> importance_lines(StudySnapshot& snapshot) {
    constexpr std::int64_t max_steps = 200'000;
    if (!snapshot.study.objective.further.empty()) return {};  // there is no single best trial
    std::int64_t steps = 0;
    for (const std::int64_t trial : analysis::analysed_trials(snapshot.study, snapshot.record))
        steps += snapshot.record.trial(trial).trained;
    if (steps > max_steps || !read_analysed_steps(snapshot)) return {};
    return analysis::short_text(snapshot.study,
                                analysis::importance_of(snapshot.study, snapshot.record, repeats_of(snapshot)));
}

}  // namespace

analysis::Importance whole_importance_of(StudySnapshot& snapshot) {
    if (const auto read = read_analysed_steps(snapshot); !read) throw Fatal(read.error().message);
    return analysis::importance_of(snapshot.study, snapshot.record, repeats_of(snapshot));
}

Insights whole_insights_of(StudySnapshot& snapshot) {
    const analysis::Importance importance = whole_importance_of(snapshot);
    Insights insights;
    insights.stopping = analysis::stopping_text(snapshot.study, snapshot.record);
    insights.lines = machine_lines(snapshot);
    insights.whole = analysis::whole_text(snapshot.study, importance);
    return insights;
}

std::vector<std::string> insights_of(StudySnapshot& snapshot) {
    std::vector<std::string> lines = importance_lines(snapshot);
    const auto& trials = snapshot.record.trials;
    // Programs that failed before their first step did not load the machine.
    if (std::none_of(trials.begin(), trials.end(), [](const TrialRecord& trial) { return trial.trained > 0; }))
        return lines;
    for (std::string& line : machine_lines(snapshot)) lines.push_back(std::move(line));
    return lines;
}

namespace {

using Json = nlohmann::ordered_json;

Json share_json(const analysis::Share& share) {
    return {{"share", share.share}, {"deviation", share.deviation}, {"sure", share.sure()}};
}

/// The facts about each rule that stopped trials.
Json stopping_json(const Study& study, const StudyRecord& record) {
    const auto agreement = analysis::agreement_of_ranks(study, record);
    const auto costs = analysis::cost_of_stopping(study, record);
    Json rules = Json::array();
    std::set<std::string> names;
    for (const auto& [rule, ranks] : agreement) names.insert(rule);
    for (const auto& [rule, cost] : costs) names.insert(rule);
    for (const std::string& rule : names) {
        Json json{{"rule", rule}, {"agreement", nullptr}, {"cost", nullptr}};
        if (const auto found = agreement.find(rule); found != agreement.end())
            json["agreement"] = {
                {"step", found->second.step}, {"trials", found->second.trials}, {"share", found->second.share}};
        if (const auto found = costs.find(rule); found != costs.end())
            json["cost"] = {{"about", found->second.about},
                            {"trials", found->second.trials},
                            {"nearest", found->second.nearest},
                            {"predicted", found->second.predicted},
                            {"deviation", found->second.deviation}};
        rules.push_back(std::move(json));
    }
    return rules;
}

Json importance_json(const Study& study, const analysis::Importance& importance, Json stopping) {
    Json parameters = Json::array(), pairs = Json::array(), bounds = Json::array();
    for (const analysis::Effect& effect : importance.effects) {
        Json json{{"parameter", effect.name}};
        json.update(share_json(effect.all));
        json["best"] = effect.best ? share_json(*effect.best) : Json(nullptr);
        parameters.push_back(std::move(json));
    }
    for (const analysis::PairEffect& pair : importance.pairs) {
        Json json{{"parameters", {pair.first, pair.second}}};
        json.update(share_json(pair.share));
        pairs.push_back(std::move(json));
    }
    for (const analysis::AtBound& bound : importance.bounds)
        bounds.push_back({{"parameter", bound.name},
                          {"end", bound.upper ? "high" : "low"},
                          {"value", Json(wire::from(bound.bound))},
                          {"trials", bound.trials},
                          {"of", bound.of}});
    return {{"schema", json_schema},
            {"study", study.name},
            {"metric", study.objective.metric},
            {"ended", importance.ends.trained},
            {"drawn_from", importance.ends.drawn_from > 0 ? Json(importance.ends.drawn_from) : Json(nullptr)},
            {"predicted", importance.ends.predicted},
            {"left_out", importance.ends.left_out},
            {"explained", importance.explained},
            {"parameters", std::move(parameters)},
            {"pairs", std::move(pairs)},
            {"best_trials", importance.best},
            {"bounds", std::move(bounds)},
            {"no_effects", importance.no_effects.empty() ? Json(nullptr) : Json(importance.no_effects)},
            {"noise", importance.noise
                          ? Json{{"deviation", importance.noise->deviation}, {"of", to_text(importance.noise->source)}}
                          : Json(nullptr)},
            {"tied", importance.tied},
            {"stopping", std::move(stopping)},
            {"next", importance.next}};
}

}  // namespace

Json importance_json(StudySnapshot& snapshot, std::int64_t most_steps) {
    std::int64_t steps = 0;
    for (const std::int64_t trial : analysis::analysed_trials(snapshot.study, snapshot.record))
        steps += snapshot.record.trial(trial).steps();
    if (steps > most_steps) {
        analysis::Importance none;
        none.no_effects =
            "These trials have too many steps to analyse them again and again while the study is watched: hpo "
            "importance " +
            snapshot.study.name + " does it once.";
        return importance_json(snapshot.study, none, Json::array());
    }
    const auto importance = whole_importance_of(snapshot);
    return importance_json(snapshot.study, importance, stopping_json(snapshot.study, snapshot.record));
}

namespace commands {
namespace {

struct ImportanceArguments {
    std::string study;
    bool json = false;
};

int run_importance(const ImportanceArguments& arguments) {
    StudySnapshot snapshot = snapshot_or_fail(choose_study(arguments.study));
    if (arguments.json) {
        print(importance_json(snapshot).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
        return 0;
    }
    print(analysis::whole_text(snapshot.study, whole_importance_of(snapshot)));
    return 0;
}

}  // namespace

CommandAction importance(CLI::App& app) {
    const auto arguments = std::make_shared<ImportanceArguments>();
    app.add_option("STUDY", arguments->study, "A study's name, folder or YAML file; default: the most recent one");
    app.add_flag("--json", arguments->json, "One JSON object for programs");
    return [arguments] { return run_importance(*arguments); };
}

}  // namespace commands
}  // namespace hpo
