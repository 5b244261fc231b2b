// The JSON form of the structures that message_fields.hpp describes. Only .cpp
// files include this header.
#pragma once

#include "hpo/message_fields.hpp"
#include "hpo/wire.hpp"

namespace hpo::wire {

/// Returns the fields of a described structure (message_fields.hpp), or the
/// JSON form of a field's value.
template <class T>
Json described(const T& value) {
    if constexpr (requires { value.value(); }) {
        return described(*value);
    } else if constexpr (requires { visit_fields(value, [](const Field&, const auto&) {}); }) {
        Json json = Json::object();
        visit_fields(value, [&](const Field& field, const auto& member) {
            if (is_written(field, member)) json[field.key] = described(member);
        });
        return json;
    } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, Metrics>) {
        return from(value);
    } else {
        return value;
    }
}

/// Reads what described() returned.
template <class T>
void read(const Json& json, T& into) {
    if constexpr (std::is_same_v<T, double>) {
        into = to_double(json);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
        into = to_int(json);
    } else if constexpr (std::is_same_v<T, bool>) {
        into = json.get<bool>();
    } else if constexpr (std::is_same_v<T, std::string>) {
        into = to_string(json);
    } else if constexpr (std::is_same_v<T, Metrics>) {
        into = to_metrics(json);
    } else if constexpr (requires { into.emplace(); }) {
        read(json, into.emplace());
    } else {
        visit_fields(into, [&](const Field& field, auto& value) {
            const auto found = json.find(field.key);
            if (field.presence == Presence::required)
                read(member(json, field.key), value);
            else if (found != json.end() && !found->is_null())
                read(*found, value);
        });
    }
}

}  // namespace hpo::wire
