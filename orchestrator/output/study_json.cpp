#include "orchestrator/output/study_json.hpp"

#include <nlohmann/json.hpp>

#include "hpo/open_trials.hpp"
#include "hpo/standing.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/lookup/study_state.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo {

using Json = nlohmann::ordered_json;

void add_remarks(Json& json, const Remarks& remarks) {
    json["tags"] = remarks.tags;
    Json& notes = json["notes"] = Json::array();
    for (const Note& note : remarks.notes) notes.push_back({{"time", utc_text(note.time)}, {"text", note.text}});
}

Json remarks_of_trials(const StudySnapshot& snapshot) {
    Json trials = Json::object();
    for (const auto& [number, remarks] : readable_notes(snapshot.folder).trials)
        add_remarks(trials[std::to_string(number)] = Json::object(), remarks);
    return trials;
}

Json trials_json(const StudySnapshot& snapshot) {
    const Notes notes = readable_notes(snapshot.folder);
    Json trials = Json::array();
    for (const TrialRecord& trial : snapshot.record.trials)
        add_remarks(trials.emplace_back(trial_json(trial)), notes.of(trial.number));
    return {{"schema", json_schema}, {"study", snapshot.study.name}, {"trials", std::move(trials)}};
}

Json study_json(const StudySnapshot& snapshot) {
    const auto counts = count_states(snapshot.record);
    Json states = Json::object();
    for (std::size_t i = 0; i < counts.size(); ++i) states[std::string(trial_state_names[i])] = counts[i];
    Json best = nullptr;
    if (const TrialRecord* trial = best_trial(snapshot.record, snapshot.study.objective))
        best = {{"trial", trial->number}, {"value", wire::from(*trial->value)}};
    const Budget& budget = snapshot.study.budget;
    const Json seconds = budget.seconds ? Json(*budget.seconds) : Json(nullptr);
    const Json of_trials = is_open_ended(budget) ? Json(nullptr) : Json(budget.trials);
    const Json epochs = budget.open ? Json(nullptr) : Json(budget.epochs);
    const Json patience = budget.patience ? Json(*budget.patience) : Json(nullptr);
    const std::string missing = snapshot.store->missing_results();
    Json json{{"study", snapshot.study.name},
              {"state", state_of(snapshot)},
              {"running", snapshot.holder.has_value()},
              {"states", std::move(states)},
              {"budget", {{"trials", of_trials}, {"epochs", epochs}, {"seconds", seconds}, {"patience", patience}}},
              {"begun", view::count_started(snapshot.record)},
              {"ended", count_ended(snapshot.record)},
              {"metric", snapshot.study.objective.metric},
              {"direction", snapshot.study.objective.direction == Direction::minimize ? "minimize" : "maximize"},
              {"best", std::move(best)},
              {"missing_results", missing.empty() ? Json(nullptr) : Json(missing)},
              {"folder", snapshot.folder.path.string()}};
    add_front(json, snapshot.record, snapshot.study.objective);
    add_remarks(json, readable_notes(snapshot.folder).study);
    return json;
}

void add_front(Json& json, const StudyRecord& record, const Objective& objective) {
    if (objective.further.empty()) return;
    const auto word = [](Direction direction) { return direction == Direction::minimize ? "minimize" : "maximize"; };
    Json& goals = json["objectives"] =
        Json::array({{{"metric", objective.metric}, {"direction", word(objective.direction)}}});
    for (const Goal& goal : objective.further)
        goals.push_back({{"metric", goal.metric}, {"direction", word(goal.direction)}});
    Json& front = json["front"] = Json::array();
    for (const TrialRecord* trial : front_of(record, objective)) {
        Json values{{objective.metric, wire::from(*trial->value)}};
        for (const Goal& goal : objective.further)
            values[goal.metric] = wire::from(*metric_that_counts(*trial, goal.metric));
        front.push_back({{"trial", trial->number}, {"values", std::move(values)}});
    }
}

std::string front_json(const StudySnapshot& snapshot) {
    Json json{{"schema", json_schema}, {"study", snapshot.study.name}};
    add_front(json, snapshot.record, snapshot.study.objective);
    for (Json& one : json["front"])
        one["params"] = wire::from(snapshot.record.trial(one["trial"].get<std::int64_t>()).params);
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace hpo
