#include "orchestrator/insights/importance_json.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "hpo/wire.hpp"
#include "orchestrator/insights/insights.hpp"
#include "orchestrator/output/trial_json.hpp"

namespace hpo {

namespace {

using Json = nlohmann::ordered_json;

/// `tells`: the analysis explains enough of the variance to claim anything (Importance::tells).
Json share_json(const analysis::Share& share, bool tells) {
    return {{"share", share.share}, {"deviation", share.deviation}, {"sure", tells && share.sure()}};
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
    const bool tells = importance.tells();
    Json parameters = Json::array(), pairs = Json::array(), bounds = Json::array();
    for (const analysis::Effect& effect : importance.effects) {
        Json json{{"parameter", effect.name}};
        json.update(share_json(effect.all, tells));
        json["best"] = effect.best ? share_json(*effect.best, tells) : Json(nullptr);
        parameters.push_back(std::move(json));
    }
    for (const analysis::PairEffect& pair : importance.pairs) {
        Json json{{"parameters", {pair.first, pair.second}}};
        json.update(share_json(pair.share, tells));
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
            {"at_step", importance.ends.at_step > 0 ? Json(importance.ends.at_step) : Json(nullptr)},
            {"reached", importance.ends.reached},
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

}  // namespace hpo
