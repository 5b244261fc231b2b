// Finds numbers in text. The readers of lines share these functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/from_chars.hpp"
#include "orchestrator/script/syntax/metric_names.hpp"
#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

using std::string;
using std::string_view;

inline constexpr std::size_t max_quoted_bytes = 200;  ///< of a line in a message

inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns half of the last digit's unit: 0.005 for 0.75. Returns 0 for numbers of more digits than anyone prints.
inline double half_digit(double number) {
    constexpr double least = 1e-12, fine = 1e-9;
    for (double unit = 1; unit > least; unit /= 10)
        if (const double count = number / unit; std::abs(count - std::round(count)) < fine * std::abs(count) + fine)
            return unit / 2;
    return 0;
}

/// Returns true if one number is the other with fewer digits: 0.75 and 0.7512, but not 0.9573 and 0.95667. Programs
/// that cut digits off are a unit of the last one away.
inline bool same_but_rounded(double a, double b) {
    constexpr double rounding = 0.005;  // relative
    if (a == b || (std::isnan(a) && std::isnan(b))) return true;
    const double distance = std::abs(a - b);
    return distance <= rounding * std::abs(b) && distance < 2 * std::max(half_digit(a), half_digit(b));
}

/// Removes blanks and double quotes at both ends.
inline string_view trim(string_view text) {
    const auto outer = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '"'; };
    while (!text.empty() && outer(text.front())) text.remove_prefix(1);
    while (!text.empty() && outer(text.back())) text.remove_suffix(1);
    return text;
}

/// Returns the number at the beginning of `text`, and its length in bytes. Any text may follow it. Numbers beyond the
/// range of a double are infinite or 0, and 1.#INF, 1.#IND and 1.#QNAN, as Windows prints them, are what they stand
/// for.
inline std::optional<std::pair<double, std::size_t>> number_at_begin(string_view text) {
    if (text.starts_with("+-")) return {};  // of a deviation: "0.99+-0.004"
    const std::size_t sign = text.starts_with('+') ? 1 : 0;
    double number = 0;
    const auto [end, status] = from_chars(text.data() + sign, text.data() + text.size(), number);
    auto size = static_cast<std::size_t>(end - text.data());
    if (status == std::errc::result_out_of_range)
        number = std::strtod(string(text.substr(0, size)).c_str(), nullptr);
    else if (status != std::errc())
        return {};
    if (const string_view rest = text.substr(size); rest.starts_with("#")) {
        const bool infinite = rest.starts_with("#INF");
        if (!infinite && !rest.starts_with("#IND") && !rest.starts_with("#QNAN")) return std::pair{number, size};
        number = infinite ? std::copysign(INFINITY, number) : NAN;
        size += rest.starts_with("#QNAN") ? 5 : 4;
    }
    return std::pair{number, size};
}

/// Returns the length of a group separator at the beginning of `text`: an apostrophe, '_', or a blank that does not
/// break a line. Returns 0 if there is none. A comma is none, since it may be decimal.
inline std::size_t group_separator(string_view text) {
    for (const string_view sign : {"'", "_", "\u2019", "\u00a0", "\u2009", "\u202f"})
        if (text.starts_with(sign)) return sign.size();
    return 0;
}

/// Returns the number at the beginning of `text` whose digits are in groups of three, such as 1'234.5, 1_234 and
/// 1,234.56, and its length in bytes. With commas it needs a decimal point.
inline std::optional<std::pair<double, std::size_t>> grouped_number(string_view text) {
    const auto digits_at = [&](std::size_t at) {
        std::size_t count = 0;
        while (at + count < text.size() && is_digit(text[at + count])) ++count;
        return count;
    };
    std::size_t at = text.starts_with('+') || text.starts_with('-') ? 1 : 0, groups = 0;
    const std::size_t first = digits_at(at);
    if (first == 0 || first > 3 || text[at] == '0') return {};
    at += first;
    const bool commas = text.substr(at).starts_with(',');
    while (true) {
        const std::size_t separator = commas ? text.substr(at).starts_with(',') : group_separator(text.substr(at));
        if (separator == 0 || digits_at(at + separator) != 3) break;
        at += separator + 3;
        ++groups;
    }
    const std::size_t decimals = text.substr(at).starts_with('.') ? digits_at(at + 1) : 0;
    if (groups == 0 || (commas && decimals == 0)) return {};
    if (decimals > 0) at += 1 + decimals;
    string plain;
    for (const char c : text.substr(0, at))
        if (is_digit(c) || c == '.' || c == '-') plain += c;
    return std::pair{number_at_begin(plain)->first, at};
}

/// Returns the length of an exponent as Fortran prints it, D-01; nothing if `text` does not begin with one.
inline std::optional<std::size_t> exponent_of_fortran(string_view text) {
    if (text.size() < 3 || (text[0] != 'D' && text[0] != 'd') || (text[1] != '+' && text[1] != '-')) return {};
    std::size_t end = 2;
    while (end < text.size() && is_digit(text[end])) ++end;
    return end > 2 ? std::optional(end) : std::nullopt;
}

/// Returns true if `text`, behind a number, goes on with its power of ten: *10^-4, x10^-4, " e-4".
inline bool is_power_of_ten(string_view text) {
    if (text.size() > 3 && text[0] == ' ' && (text[1] == 'e' || text[1] == 'E') && (text[2] == '-' || text[2] == '+'))
        return is_digit(text[3]);
    while (text.starts_with(' ')) text.remove_prefix(1);
    for (const string_view sign : {"*", "x", "\u00d7"})
        if (text.starts_with(sign)) {
            text.remove_prefix(sign.size());
            while (text.starts_with(' ')) text.remove_prefix(1);
            return text.starts_with("10^") || text.starts_with("10**") || text.starts_with("10\u207b");
        }
    return false;
}

/// Like number_at_begin(), but returns nothing if the number is a part of something else, such as 3s, 0x10, 3/10,
/// 12:30, 1.2.3, 1,234, 2024-05-01 or 0.25.ckpt. Julia's and Rust's endings (0.5f0, 0.5f32) belong to a number.
inline std::optional<std::pair<double, std::size_t>> leading_number(string_view text) {
    auto number = grouped_number(text);
    if (!number) number = number_at_begin(text);
    if (!number) return {};
    string_view rest = text.substr(number->second);
    if (const auto exponent = exponent_of_fortran(rest)) {
        number = number_at_begin(string(text.substr(0, number->second)) + 'e' + string(rest.substr(1, *exponent - 1)));
        number->second = text.size() - rest.size() + *exponent;
        rest.remove_prefix(*exponent);
    }
    if (is_power_of_ten(rest)) return {};
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
