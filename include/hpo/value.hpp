// The values of parameters and configuration keys.
#pragma once

#include <charconv>
#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "hpo/named.hpp"

namespace hpo {

/// A JSON value of another type: null, a map, or a list other than of integers. It is kept as text with a blank after
/// each comma and colon, as wire.hpp writes it, so that equal values have equal texts.
struct JsonText {
    std::string text;
    auto operator<=>(const JsonText&) const = default;
};

/// The value of a parameter. A list of integers has its own type for layer widths (`hidden: [512, 256, 128]`).
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, JsonText>;

/// Values by name.
using Params = Named<Value>;

/// Returns the shortest decimal that reads back as the same double. It contains '.', 'e', "inf" or "nan", so that it
/// reads back as a float.
inline std::string to_text(double number) {
    char buffer[32];
    auto [end, status] = std::to_chars(buffer, buffer + sizeof buffer, number);
    std::string text(buffer, end);
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
}

/// Returns true for null. Null may be a choice of a parameter; in a command its argument is left out.
inline bool is_null(const Value& value) {
    const auto* json = std::get_if<JsonText>(&value);
    return json != nullptr && json->text == "null";
}

/// Returns the value in the flow style of YAML and JSON, but texts without quotes: true, 256, 0.001, relu, [512, 256],
/// ["a", 0.5], null.
inline std::string to_text(const Value& value) {
    struct Writer {
        std::string operator()(bool flag) const { return flag ? "true" : "false"; }
        std::string operator()(std::int64_t number) const { return std::to_string(number); }
        std::string operator()(double number) const { return to_text(number); }
        std::string operator()(const std::string& text) const { return text; }
        std::string operator()(const JsonText& json) const { return json.text; }
        std::string operator()(const std::vector<std::int64_t>& list) const {
            std::string text = "[";
            for (auto item : list) text += (text.size() > 1 ? ", " : "") + std::to_string(item);
            return text + "]";
        }
    };
    return std::visit(Writer{}, value);
}

/// Returns an integer or a float as a double, and `otherwise` for any other value.
inline double number_or(const Value& value, double otherwise) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    return otherwise;
}

}  // namespace hpo
