#include "orchestrator/advice/report.hpp"

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "hpo/result.hpp"
#include "orchestrator/engine/warm_start.hpp"
#include "orchestrator/output/trial_json.hpp"

namespace hpo {

namespace {

using Json = nlohmann::ordered_json;

/// Returns the duration of the whole search, in seconds, with a change; nothing if the gain is not known or the search
/// cannot be simulated.
std::optional<PredictedRange> search_time(const MeasuredStudy& measured, const std::vector<PriorStudy>& priors,
                                          const StepLaw& law, const Change& change) {
    if (!change.gain) return std::nullopt;
    const bool more_at_once = change.group == "parallel";
    const double gain = more_at_once ? 1 : *change.gain;
    Hardware hardware = hardware_of(measured.study, measured.run);
    hardware.speed = Span{gain, gain};
    for (DeviceGroup& group : hardware.groups) group.speed = hardware.speed;
    Study study = measured.study;
    study.resources.parallel = measured.run.workers;
    if (more_at_once) {
        study.resources.parallel = std::llround(static_cast<double>(measured.run.workers) * *change.gain);
        hardware.cores *= *change.gain;
    }
    const auto prediction =
        predict(study, priors, hardware, measured.run,
                [&](std::uint64_t draw) { return std::make_unique<RecordedWorkload>(study, measured.run, law, draw); },
                {.simulations = 8, .patience = 3});
    if (!prediction) return std::nullopt;
    return prediction->seconds;
}

}  // namespace

void add_search_times(AdviceReport& report, const MeasuredStudy& measured) {
    const StepLaw law(measured.study.space, measured.run);
    const auto priors = prior_studies_of(measured.study);
    if (!priors) throw Fatal(priors.error().message);
    report.now = search_time(measured, *priors, law, {.gain = 1});
    for (const Change& change : report.advice.changes)
        report.changed.push_back(search_time(measured, *priors, law, change));
}

std::vector<KeyAndValue> chosen_keys(const Advice& advice) {
    std::vector<KeyAndValue> keys;
    const auto take = [&](const Change& change) { keys.insert(keys.end(), change.keys.begin(), change.keys.end()); };
    for (const Change& change : advice.changes)
        if (change.group == "together") return change.keys;
    for (const Change& change : advice.changes)
        if (change.gain) take(change);
    if (keys.empty() && !advice.changes.empty()) take(advice.changes.front());
    return keys;
}

Json to_json(const AdviceReport& report) {
    const auto range = [](const std::optional<PredictedRange>& seconds) {
        return seconds ? Json{seconds->low, seconds->middle, seconds->high} : Json(nullptr);
    };
    Json changes = Json::array();
    for (std::size_t i = 0; i < report.advice.changes.size(); ++i) {
        const Change& change = report.advice.changes[i];
        Json keys = Json::object();
        for (const auto& [key, value] : change.keys) keys[key] = value;
        changes.push_back({{"kind", change.group},
                           {"keys", std::move(keys)},
                           {"gain", change.gain ? Json(*change.gain) : Json(nullptr)},
                           {"seconds", range(report.changed[i])},
                           {"basis", change.basis},
                           {"why", change.why}});
    }
    return {{"schema", json_schema},
            {"study", report.study},
            {"bound", to_text(report.advice.bound)},
            {"evidence", report.advice.evidence},
            {"seconds", range(report.now)},
            {"changes", std::move(changes)},
            {"largest_batch", report.facts.largest_batch ? Json(*report.facts.largest_batch) : Json(nullptr)},
            {"not_known", report.advice.to_measure}};
}

}  // namespace hpo
