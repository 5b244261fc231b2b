#include "orchestrator/script/syntax/json_metrics.hpp"

#include <nlohmann/json.hpp>

#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

nlohmann::json parse_json(string_view text) {
    auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_discarded()) return json;
    string quoted(text);
    for (const string_view word : {"-Infinity", "Infinity", "NaN"})
        for (auto at = quoted.find(word); at != string::npos; at = quoted.find(word, at + word.size() + 2)) {
            if (at > 0 && (quoted[at - 1] == '-' || quoted[at - 1] == '"')) continue;
            quoted.insert(at + word.size(), 1, '"').insert(at, 1, '"');
        }
    return nlohmann::json::parse(quoted, nullptr, false);
}

bool add_json(string_view text, Metrics& metrics) {
    const auto json = parse_json(text);
    if (!json.is_object()) return false;
    for (const auto& [name, value] : json.items()) {
        if (value.is_number()) add(metrics, name, value.get<double>());
        if (value.is_string()) add_text(metrics, name, value.get_ref<const string&>());
    }
    return true;
}

}  // namespace hpo::script
