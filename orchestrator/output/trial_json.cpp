#include "orchestrator/output/trial_json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "hpo/random.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/script/trial_values.hpp"

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

/// Returns the bytes of host and device, null where they are not known.
Json memory(const Footprint& footprint) {
    const auto known = [](std::int64_t bytes) { return bytes > 0 ? Json(bytes) : Json(nullptr); };
    return {{"host_bytes", known(footprint.host_bytes)}, {"device_bytes", known(footprint.device_bytes)}};
}

/// Formats a time in UTC, with `decimals` digits after the second.
std::string time_text(double time, const char* format, int decimals) {
    const auto units = static_cast<long long>(std::pow(10, decimals));
    const auto count = static_cast<long long>(std::floor(time * static_cast<double>(units)));
    const auto seconds = static_cast<std::time_t>(count / units);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char whole[32], text[64];
    std::strftime(whole, sizeof whole, format, &parts);
    std::snprintf(text, sizeof text, "%s.%0*lld", whole, decimals, count % units);
    return text;
}

}  // namespace

const Report* counting_report(const TrialRecord& trial) {
    if (trial.curve.empty()) return nullptr;
    // Steps are in ascending order.
    const auto counts = std::lower_bound(trial.curve.begin(), trial.curve.end(), trial.best_step,
                                         [](const Report& report, std::int64_t step) { return report.step < step; });
    const bool found = counts != trial.curve.end() && counts->step == trial.best_step;
    return found ? &*counts : &trial.curve.back();
}

std::string utc_text(double time) { return time > 0 ? time_text(time, "%Y-%m-%dT%H:%M:%S", 3) + 'Z' : ""; }

long local_offset(double time) {
    const auto seconds = static_cast<std::time_t>(time);
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    return parts.tm_gmtoff;
}

std::string offset_text(double time, long offset) {
    return time_text(time + static_cast<double>(offset), "%Y-%m-%d %H:%M:%S", 6);
}

Json trial_json(const TrialRecord& trial) {
    const Report* counts = counting_report(trial);
    const bool runs = trial.state == TrialState::running;  // a reason is that of an earlier attempt or of a pause
    Json json{
        {"trial", trial.number},
        {"state", to_text(trial.state)},
        {"attempt", trial.attempt},
        {"params", object(trial.params)},
        {"values", object(counts ? counts->metrics : Metrics())},
        {"closing", object(trial.closing)},
        {"value", wire::from(own_value(trial))},
        {"best_step", trial.best_step > 0 ? Json(trial.best_step) : Json(nullptr)},
        {"steps", trial.steps()},
        {"steps_trained", trial.trained},
        {"device", text_or_null(trial.allocation->device)},
        {"host", text_or_null(trial.allocation->host)},
        {"reserved", memory(trial.allocation->footprint)},
        {"peak", memory(trial.peak)},
        {"micro_batches", trial.allocation->micro_batches > 0 ? Json(trial.allocation->micro_batches) : Json(nullptr)},
        {"rule", text_or_null(runs ? "" : trial.rule)},
        {"reason", text_or_null(runs ? "" : trial.reason)},
        {"failures", trial.failures},
        {"queued", text_or_null(utc_text(trial.queued_at))},
        {"started", text_or_null(utc_text(trial.started_at))},
        {"ended", text_or_null(utc_text(trial.ended_at))}};
    add_seeds(json, trial);
    return json;
}

void add_seeds(Json& json, const TrialRecord& trial) {
    if (trial.repeat_of != 0) json["repeat_of"] = trial.repeat_of;
    if (trial.seeds.empty()) return;
    json["mean"] = wire::from(trial.value);
    json["deviation"] = wire::from(deviation_of_seeds(trial));
    json["seeds"] = trial.seeds.size();
}

std::uint64_t given_seed(const Study& study, const TrialRecord& trial) {
    if (const auto searched = trial.params.find("seed"); searched != trial.params.end())
        if (const auto* seed = std::get_if<std::int64_t>(&searched->second)) return static_cast<std::uint64_t>(*seed);
    const std::uint64_t seed = trial_seed(study.seed, static_cast<std::uint64_t>(trial.number));
    return study.script() ? seed % script::seeds : seed;
}

Json whole_trial_json(const Study& study, const TrialRecord& trial) {
    Json json = trial_json(trial);
    json["seed"] = given_seed(study, trial);
    Json& curve = json["curve"] = Json::array();
    for (const Report& report : trial.curve) curve.push_back(Json(wire::described(report)));
    return json;
}

}  // namespace hpo
