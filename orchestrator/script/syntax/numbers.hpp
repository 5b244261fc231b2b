// Finds numbers in text. The readers of lines share these functions.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "orchestrator/script/syntax/metric_names.hpp"
#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

using std::string;
using std::string_view;

inline constexpr std::size_t max_quoted_bytes = 200;  ///< of a line in a message

inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Removes blanks and double quotes at both ends.
inline string_view trim(string_view text) {
    const auto outer = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '"'; };
    while (!text.empty() && outer(text.front())) text.remove_prefix(1);
    while (!text.empty() && outer(text.back())) text.remove_suffix(1);
    return text;
}

/// Returns the number at the beginning of `text`, and its length in bytes. Any text may follow it.
inline std::optional<std::pair<double, std::size_t>> number_at_begin(string_view text) {
    const std::size_t sign = text.starts_with('+') ? 1 : 0;
    double number = 0;
    const auto [end, status] = std::from_chars(text.data() + sign, text.data() + text.size(), number);
    if (status != std::errc()) return {};
    return std::pair{number, static_cast<std::size_t>(end - text.data())};
}

/// Like number_at_begin(), but returns nothing if the number is a part of something else, such as 3s, 0x10, 3/10,
/// 12:30, 1.2.3, 1,234, 2024-05-01 or 0.25.ckpt. Julia's and Rust's endings (0.5f0, 0.5f32) belong to a number.
inline std::optional<std::pair<double, std::size_t>> leading_number(string_view text) {
    auto number = number_at_begin(text);
    if (!number) return {};
    string_view rest = text.substr(number->second);
    for (const string_view ending : {"f0", "f32", "f64"})
        if (rest.starts_with(ending)) {
            number->second += ending.size();
            rest.remove_prefix(ending.size());
            break;
        }
    if (rest.empty()) return number;
    if (string_view(" \t\r;|)]}>\"'%(*!<").find(rest[0]) != string_view::npos) return number;
    if (rest.starts_with("+-") || rest.starts_with("+/-")) return number;
    if (string_view(".:,").find(rest[0]) == string_view::npos) return {};
    if (rest.size() == 1) return number;
    const char next = rest[1];
    if (rest[0] == ',') return is_digit(next) ? std::nullopt : number;
    return is_letter(next) || is_digit(next) || next == rest[0] || next == '/' ? std::nullopt : number;
}

/// Sets a metric if all of `text` is a number.
inline void set_text(Reading& reading, string_view name, string_view text) {
    text = trim(text);
    if (const auto number = leading_number(text); number && number->second == text.size())
        reading.set(name, number->first);
}

}  // namespace hpo::script
