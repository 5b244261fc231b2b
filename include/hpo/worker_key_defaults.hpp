// The defaults of the native worker's keys as values: the one reader of the table's texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hpo/from_chars.hpp"
#include "hpo/result.hpp"
#include "hpo/value.hpp"
#include "hpo/worker_keys.hpp"

namespace hpo {

/// The table's default, in the key's type; an empty text where there is none.
inline Value default_value(const WorkerKey& key) {
    const std::string_view text = key.fallback;
    const auto read = [text](auto number) {
        from_chars(text.data(), text.data() + text.size(), number);
        return number;
    };
    if (text.empty()) return std::string();
    switch (key.type) {
        case WorkerKey::Type::integer:
            return read(std::int64_t{0});
        case WorkerKey::Type::real:
            return read(0.0);
        case WorkerKey::Type::flag:
            return text == "true";
        case WorkerKey::Type::text:
        case WorkerKey::Type::list:
            break;
    }
    return std::string(text);
}

/// The default of the numeric key `name`, which must be in the table and have one: anything else is a bug.
inline double default_number(std::string_view name) {
    const WorkerKey* key = find_worker_key(name);
    if (!key || key->fallback.empty()) throw Fatal("no worker key with a default: " + std::string(name));
    return number_or(default_value(*key), 0);
}
inline std::int64_t default_whole(std::string_view name) { return static_cast<std::int64_t>(default_number(name)); }

/// Returns true if `key` has an effect in a configuration, whose absent keys have their defaults: the key that decides
/// it has one of the values needed, and an effect itself.
inline bool applies(const WorkerKey& key, const Params& configuration) {
    const WorkerKey* decides = find_worker_key(condition_of(key));
    if (!decides) return true;
    const auto given = configuration.find(std::string(decides->name));
    const Value value = given == configuration.end() ? default_value(*decides) : given->second;
    return applies_with(key, decides->name, to_text(value)) && applies(*decides, configuration);
}

/// Returns true if `type` is given as trees, which XGBoost grows rather than a network that is trained.
inline bool is_trees(const Params& params) {
    const auto type = params.find("type");
    return type != params.end() && to_text(type->second) == "trees";
}

}  // namespace hpo
