// Value: what a parameter or a configuration key may hold. Params: names to values, in name order.
#pragma once

#include <charconv>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace hpo {

/// What JSON has beside: null, other lists than of whole numbers, maps. As its text, with a blank after each comma and
/// colon (wire.hpp writes it), so that equal values have equal texts.
struct JsonText {
    std::string text;
    auto operator<=>(const JsonText&) const = default;
};

/// A list of integers is there for layer widths (`hidden: [512, 256, 128]`).
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, JsonText>;

using Params = std::map<std::string, Value>;

/// The shortest decimal that reads back as the same double; always holds '.', 'e', "inf" or "nan", so that it stays a
/// float.
inline std::string to_text(double number) {
    char buffer[32];
    auto [end, status] = std::to_chars(buffer, buffer + sizeof buffer, number);
    std::string text(buffer, end);
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
}

/// Null is a choice like others; in a command its argument is left out.
inline bool is_null(const Value& value) {
    const auto* json = std::get_if<JsonText>(&value);
    return json != nullptr && json->text == "null";
}

/// As YAML and JSON flow style write it, but strings bare: true, 256, 0.001, relu, [512, 256], ["a", 0.5], null.
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

/// An int or a float as a double; `otherwise` for everything else.
inline double number_or(const Value& value, double otherwise) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    return otherwise;
}

}  // namespace hpo
