// Finds names and numbers in text. The readers of lines share these functions.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

using std::string;
using std::string_view;

inline constexpr std::size_t max_name_bytes = 64;
inline constexpr std::size_t max_quoted_bytes = 200;  ///< of a line in a message

inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_name_byte(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '/'; }

inline bool is_name(string_view name) {
    return !name.empty() && name.size() <= max_name_bytes && is_letter(name.front()) &&
           std::all_of(name.begin(), name.end(), is_name_byte);
}

/// Removes blanks and double quotes at both ends.
inline string_view trim(string_view text) {
    const auto outer = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '"'; };
    while (!text.empty() && outer(text.front())) text.remove_prefix(1);
    while (!text.empty() && outer(text.back())) text.remove_suffix(1);
    return text;
}

/// Returns the number that `text` begins with, and its length in bytes. Anything may follow it.
inline std::optional<std::pair<double, std::size_t>> number_at_begin(string_view text) {
    const std::size_t sign = text.starts_with('+') ? 1 : 0;
    double number = 0;
    const auto [end, status] = std::from_chars(text.data() + sign, text.data() + text.size(), number);
    if (status != std::errc()) return {};
    return std::pair{number, static_cast<std::size_t>(end - text.data())};
}

/// Like number_at_begin(), but returns nothing if the number is a part of something else, such as 3s, 0x10, 3/10,
/// 12:30, 1.2.3 or 1,234.
inline std::optional<std::pair<double, std::size_t>> leading_number(string_view text) {
    const auto number = number_at_begin(text);
    if (!number) return {};
    const string_view rest = text.substr(number->second);
    if (rest.empty()) return number;
    if (is_letter(rest[0]) || is_digit(rest[0])) return {};
    const bool joined = string_view("./:,-").find(rest[0]) != string_view::npos;
    return joined && rest.size() > 1 && is_digit(rest[1]) ? std::nullopt : number;
}

/// Sets a metric. Ignores invalid names, and new names beyond max_metrics.
inline void add(Metrics& metrics, string_view name, double number) {
    if (!is_name(name)) return;
    const auto found = metrics.find(string(name));
    if (found != metrics.end())
        found->second = number;
    else if (metrics.size() < max_metrics)
        metrics.emplace(name, number);
}

/// Sets a metric if all of `text` is a number.
inline void add_text(Metrics& metrics, string_view name, string_view text) {
    text = trim(text);
    if (const auto number = leading_number(text); number && number->second == text.size())
        add(metrics, trim(name), number->first);
}

}  // namespace hpo::script
