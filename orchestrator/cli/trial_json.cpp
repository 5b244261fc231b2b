#include "orchestrator/cli/trial_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hpo/wire.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo {

using Json = nlohmann::ordered_json;

namespace {

template <class Map>
Json object(const Map& map) {
    Json json = Json::object();
    for (const auto& [name, value] : map) json[name] = wire::from(value);
    return json;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

/// Bytes; what is not known is null.
Json memory(const Footprint& footprint) {
    const auto known = [](std::int64_t bytes) { return bytes > 0 ? Json(bytes) : Json(nullptr); };
    return {{"host_bytes", known(footprint.host_bytes)}, {"device_bytes", known(footprint.device_bytes)}};
}

}  // namespace

Json trial_json(const TrialRecord& trial) {
    Metrics values;
    if (!trial.curve.empty()) {
        const auto counts = std::find_if(trial.curve.begin(), trial.curve.end(),
                                         [&](const Report& report) { return report.step == trial.best_step; });
        values = counts == trial.curve.end() ? trial.curve.back().metrics : counts->metrics;
    }
    return {{"trial", trial.number},
            {"state", to_text(trial.state)},
            {"attempt", trial.attempt},
            {"params", object(trial.params)},
            {"values", object(values)},
            {"steps", trial.steps()},
            {"device", text_or_null(trial.allotment.device)},
            {"booked", memory(trial.allotment.footprint)},
            {"peak", memory(trial.peak)},
            {"micro_batches", trial.allotment.micro_batches > 0 ? Json(trial.allotment.micro_batches) : Json(nullptr)},
            {"reason", text_or_null(trial.reason)}};
}

Json trials_json(const StudyLook& look) {
    Json trials = Json::array();
    for (const TrialRecord& trial : look.record.trials) trials.push_back(trial_json(trial));
    return {{"study", look.study.name}, {"trials", std::move(trials)}};
}

Json study_json(const StudyLook& look) {
    const auto counts = view::count_states(look.record);
    Json states = Json::object();
    for (std::size_t i = 0; i < counts.size(); ++i) states[std::string(trial_state_names[i])] = counts[i];
    Json best = nullptr;
    if (const TrialRecord* trial = view::best_trial(look.record, look.study.objective))
        best = {{"trial", trial->number}, {"value", wire::from(*trial->value)}};
    return {{"study", look.study.name},
            {"running", look.holder.has_value()},
            {"states", std::move(states)},
            {"trials", look.study.budget.trials},
            {"ended", view::count_ended(look.record)},
            {"metric", look.study.objective.metric},
            {"best", std::move(best)},
            {"folder", look.folder.path.string()}};
}

}  // namespace hpo
