#include "orchestrator/engine/seen_data.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "hpo/worker_keys.hpp"

namespace hpo {

namespace {

/// Returns the parameters that determine a trial's data, as text.
std::string data_of(const Params& params) {
    std::string text;
    for (const auto& [name, value] : params) {
        const WorkerKey* key = find_worker_key(name);
        if (key && key->section.starts_with("data") && key->changes_result) text += name + '=' + to_text(value) + '\n';
    }
    return text;
}

}  // namespace

SeenData::SeenData(const std::string& stored) {
    const auto json = nlohmann::json::parse(stored, nullptr, false);
    if (!json.is_array()) return;
    for (const auto& one : json) {
        if (!one.is_object()) continue;
        const auto text = [&](const char* name) {
            const auto found = one.find(name);
            return found != one.end() && found->is_string() ? found->get<std::string>() : std::string();
        };
        const auto trial = one.find("trial");
        if (trial == one.end() || !trial->is_number_integer()) continue;
        seen_.insert({text("data"), {text("fingerprint"), trial->get<std::int64_t>()}});
    }
}

std::int64_t SeenData::see(std::int64_t trial, const Params& params, const std::string& fingerprint) {
    const auto [first, is_new] = seen_.insert({data_of(params), {fingerprint, trial}});
    changed_ |= is_new;
    return first->second.fingerprint == fingerprint ? 0 : first->second.trial;
}

bool SeenData::take_change() { return std::exchange(changed_, false); }

std::string SeenData::text() const {
    auto json = nlohmann::json::array();
    for (const auto& [data, first] : seen_)
        json.push_back({{"data", data}, {"fingerprint", first.fingerprint}, {"trial", first.trial}});
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace hpo
