#include "orchestrator/cli/trial_json.hpp"

#include <nlohmann/json.hpp>

#include "hpo/wire.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo {

using Json = nlohmann::ordered_json;

Json trials_json(const StudyLook& look) {
    Json trials = Json::array();
    for (const TrialRecord& trial : look.record.trials) trials.push_back(trial_json(trial));
    return {{"schema", json_schema}, {"study", look.study.name}, {"trials", std::move(trials)}};
}

Json study_json(const StudyLook& look) {
    const auto counts = view::count_states(look.record);
    Json states = Json::object();
    for (std::size_t i = 0; i < counts.size(); ++i) states[std::string(trial_state_names[i])] = counts[i];
    Json best = nullptr;
    if (const TrialRecord* trial = view::best_trial(look.record, look.study.objective))
        best = {{"trial", trial->number}, {"value", wire::from(*trial->value)}};
    const Budget& budget = look.study.budget;
    const Json seconds = budget.seconds ? Json(*budget.seconds) : Json(nullptr);
    const Json patience = budget.patience ? Json(*budget.patience) : Json(nullptr);
    return {{"study", look.study.name},
            {"running", look.holder.has_value()},
            {"states", std::move(states)},
            {"budget",
             {{"trials", budget.trials}, {"epochs", budget.epochs}, {"seconds", seconds}, {"patience", patience}}},
            {"begun", look.record.trials.size()},
            {"ended", view::count_ended(look.record)},
            {"metric", look.study.objective.metric},
            {"direction", look.study.objective.direction == Direction::minimize ? "minimize" : "maximize"},
            {"best", std::move(best)},
            {"folder", look.folder.path.string()}};
}

}  // namespace hpo
