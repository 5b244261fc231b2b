#include "orchestrator/calibration/kept_concurrency.hpp"

#include <unistd.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "hpo/printable.hpp"
#include "hpo/regular_file.hpp"
#include "hpo/short_hash.hpp"

namespace hpo {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t most_kept_at_once = 1 << 16;
constexpr double most_log_ratio = 20;

Json to_json(const FoundConcurrency& found) {
    Json changes = Json::array();
    for (const RateChange& change : found.changes)
        changes.push_back({change.fewer, change.more, change.log_ratio, change.count});
    return {{"number", found.number}, {"changes", std::move(changes)}};
}

std::int64_t number_in(const Json& json) {
    const auto number = json.get<std::int64_t>();
    if (number < 1 || number > most_kept_at_once) throw std::runtime_error("an impossible number of trials");
    return number;
}

FoundConcurrency found_in(const Json& json) {
    FoundConcurrency found{number_in(json.at("number"))};
    for (const Json& change : json.at("changes")) {
        found.changes.push_back(
            {number_in(change.at(0)), number_in(change.at(1)), change.at(2).get<double>(), number_in(change.at(3))});
        if (!(std::abs(found.changes.back().log_ratio) < most_log_ratio)) throw std::runtime_error("no ratio");
    }
    return found;
}

}  // namespace

std::string model_kind(const Study& study, const Params& params) {
    for (const Params* given : {&params, &study.fixed})
        if (const auto type = given->find("type"); type != given->end()) return to_text(type->second);
    return "mlp";
}

std::string kind_of_trial(const Study& study, std::string_view backend) {
    if (const ScriptWorker* script = study.script()) {
        std::error_code failed;
        const std::string home = script->home.empty() ? std::filesystem::current_path(failed).string() : script->home;
        std::string kind = "script in " + (script->cwd.empty() ? home : home + " and " + script->cwd) + ":";
        for (const std::string& word : script->command) kind += " " + word;
        return kind;
    }
    return "native " + model_kind(study, {}) + " on " + std::string(backend);
}

std::filesystem::path concurrency_file(const std::filesystem::path& cache, const ConcurrencyKey& key) {
    return cache / "concurrency" / (short_hash(key.machine + '\n' + key.device + '\n' + key.kind) + ".json");
}

std::optional<RememberedConcurrency> load_concurrency(const std::filesystem::path& file, const ConcurrencyKey& key) {
    if (!check_regular(file)) return std::nullopt;
    std::ifstream stream(file);
    if (!stream) return std::nullopt;
    try {
        const Json json = Json::parse(stream);
        if (json.at("machine") != key.machine || json.at("device") != key.device || json.at("kind") != key.kind)
            return std::nullopt;
        return RememberedConcurrency{found_in(json.at("workers")), found_in(json.at("fused"))};
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

Result<void> save_concurrency(const std::filesystem::path& file, const ConcurrencyKey& key,
                              const RememberedConcurrency& found) {
    std::error_code failed;
    std::filesystem::create_directories(file.parent_path(), failed);
    const std::filesystem::path temporary = file.string() + "." + std::to_string(::getpid());
    const Json json{{"machine", key.machine},
                    {"device", key.device},
                    {"kind", key.kind},
                    {"workers", to_json(found.workers)},
                    {"fused", to_json(found.fused)}};
    bool written = false;
    {
        std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
        stream << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
        stream.close();
        written = static_cast<bool>(stream);
    }
    if (written) std::filesystem::rename(temporary, file, failed);
    if (written && !failed) return {};
    std::filesystem::remove(temporary, failed);
    return Error{"the number of trials at once cannot be kept in " + printable(file.string())};
}

}  // namespace hpo
