#include <nlohmann/json.hpp>

#include "orchestrator/preview/preview.hpp"

namespace hpo {

namespace {

using Json = nlohmann::ordered_json;

/// Returns the number, or null if all are kept.
Json kept(const std::optional<std::int64_t>& limit) { return limit ? Json(*limit) : Json(nullptr); }

Json numbers(const SampleRange& range) { return {range.least, range.typical, range.most}; }

void add_native(Json& json, const NativePreview& native, bool on_device) {
    json["data"] = native.data;
    json["parameters"] = native.networks ? numbers(native.networks->parameters) : Json(nullptr);
    json["host_bytes"] = numbers(native.host_bytes);
    if (on_device) json["device_bytes"] = numbers(native.device_bytes);
    json["updates"] = native.networks ? Json{{"epoch", numbers(native.networks->epoch_updates)},
                                             {"trial", numbers(native.networks->trial_updates)}}
                                      : Json(nullptr);
    if (native.rounds) json["rounds"] = numbers(*native.rounds);
    for (const SampleForecast& one : native.backends.samples)
        json["backends"].push_back({{"trial", one.trial}, {"cpu_seconds", one.cpu}, {"gpu_seconds", one.gpu}});
    json["too_large"] = Json::array();
    for (const Sample& sample : native.samples)
        if (!sample.too_large.empty())
            json["too_large"].push_back(
                {{"trial", sample.trial},
                 {"reason", sample.too_large},
                 {"micro_batches", sample.micro_batches > 0 ? Json(sample.micro_batches) : Json(nullptr)}});
    json["seconds_per_step"] = native.step_seconds ? Json(*native.step_seconds) : Json(nullptr);
}

void add_script(Json& json, const Study& study, const ScriptPreview& script) {
    json["home"] = script.home;
    json["unused"] = script.unused;
    json["shadowed"] = script.shadowed;
    json["progress_timeout"] = study.resources.progress_timeout;
    json["needs"] = script.needs.alone ? "learned" : "declared";
}

Json packing_json(const MachinePreview& machine) {
    const Packing& packing = machine.packing();
    Json counts = Json::object(), pools = Json::array();
    if (const auto* native = std::get_if<NativePreview>(&machine.trials))
        counts = {{"typical", native->typical_at_once}, {"largest", native->largest_at_once}};
    for (const Packing::Pool& pool : packing.pools)
        pools.push_back({{"device", pool.id.empty() ? Json(nullptr) : Json(pool.id)},
                         {"capacity", pool.capacity},
                         {"reserve", pool.reserve},
                         {"others", pool.others},
                         {"available", pool.available},
                         {"trials", pool.trials},
                         {"reserved", pool.reserved}});
    return {{"of", counts}, {"limit", packing.limit}, {"pools", pools}, {"waits", packing.kept_out}};
}

}  // namespace

nlohmann::ordered_json to_json(const Study& study, const Preview& preview) {
    Json json{{"study", study.name},
              {"dimensions", study.space.size()},
              {"where", study.where},
              {"trials", trials_of(study)},
              {"keep", {{"checkpoints", kept(study.keep.checkpoints)}, {"folders", kept(study.keep.folders)}}},
              {"allowed", preview.search.allowed}};
    if (!preview.machine) return json;
    if (const auto* native = std::get_if<NativePreview>(&preview.machine->trials))
        add_native(json, *native, preview.machine->on_device);
    else
        add_script(json, study, std::get<ScriptPreview>(preview.machine->trials));
    json["at_once"] = preview.machine->at_once();
    json["packing"] = packing_json(*preview.machine);
    return json;
}

}  // namespace hpo
