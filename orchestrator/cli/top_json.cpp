#include "orchestrator/cli/top_json.hpp"

#include <nlohmann/json.hpp>

#include "orchestrator/cli/top_reading.hpp"
#include "orchestrator/output/study_json.hpp"

namespace hpo {
namespace {

nlohmann::ordered_json text_or_null(const std::string& text) {
    return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

}  // namespace

std::string top_json(const StudySnapshot& snapshot) {
    nlohmann::ordered_json json{{"schema", json_schema}};
    json.update(study_json(snapshot));
    const view::Moment moment = moment_now(snapshot);
    json["memory"] = nlohmann::ordered_json::array();
    for (const view::Pool& pool : moment.pools)
        json["memory"].push_back({{"name", pool.name},
                                  {"capacity", pool.capacity},
                                  {"others", pool.others},
                                  {"reserved", pool.reserved},
                                  {"used", pool.used ? nlohmann::ordered_json(*pool.used) : nullptr},
                                  {"trials", pool.trials},
                                  {"state", text_or_null(pool.state)},
                                  {"reason", text_or_null(pool.reason)}});
    json["waits"] = moment.waits.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(moment.waits);
    json["trials"] = trials_json(snapshot)["trials"];
    for (nlohmann::ordered_json& trial : json["trials"]) {
        const auto end = view::predicted_end(moment, snapshot.record.trial(trial["trial"]));
        trial["predicted_end"] = end ? nlohmann::ordered_json(*end) : nullptr;
    }
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace hpo
