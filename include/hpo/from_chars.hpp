// std::from_chars, also where the standard library has it for whole numbers alone (libc++ before 20).
#pragma once

#include <locale.h>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

#if __has_include(<xlocale.h>)  // macOS declares strtod_l there
#include <xlocale.h>
#endif

namespace hpo {

namespace number_text {

/// Returns the end of the digits at the beginning of [at, end).
inline const char* digits_end(const char* at, const char* end) {
    while (at != end && *at >= '0' && *at <= '9') ++at;
    return at;
}

/// Returns whether [at, end) begins with `word`, in letters of either case.
inline bool begins_with_word(const char* at, const char* end, std::string_view word) {
    if (static_cast<std::size_t>(end - at) < word.size()) return false;
    for (const char letter : word)
        if ((*at++ | 0x20) != letter) return false;
    return true;
}

/// Returns the end of the longest number at the beginning of [begin, end), in the form that std::from_chars reads
/// (decimal digits with an optional '-', point and exponent, inf, infinity, nan, nan(letters)), or `begin`.
inline const char* number_end(const char* begin, const char* end) {
    const char* at = begin;
    if (at != end && *at == '-') ++at;
    if (begins_with_word(at, end, "infinity")) return at + 8;
    if (begins_with_word(at, end, "inf")) return at + 3;
    if (begins_with_word(at, end, "nan")) {
        at += 3;
        if (at == end || *at != '(') return at;
        const auto is_of_name = [](char c) {
            return c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        };
        const char* close = at + 1;
        while (close != end && is_of_name(*close)) ++close;
        return close != end && *close == ')' ? close + 1 : at;
    }
    const char* const whole = at;
    at = digits_end(at, end);
    std::size_t digits = static_cast<std::size_t>(at - whole);
    if (at != end && *at == '.') {
        const char* const decimals = digits_end(at + 1, end);
        digits += static_cast<std::size_t>(decimals - at - 1);
        if (digits > 0) at = decimals;
    }
    if (digits == 0) return begin;
    if (at != end && (*at | 0x20) == 'e') {
        const char* exponent = at + 1;
        if (exponent != end && (*exponent == '-' || *exponent == '+')) ++exponent;
        if (const char* const after = digits_end(exponent, end); after != exponent) at = after;
    }
    return at;
}

/// std::from_chars by the C library, whatever the program's locale. The tests compare the two where both exist.
template <class Real>
std::from_chars_result from_chars_by_c(const char* begin, const char* end, Real& value) {
    const char* const after = number_end(begin, end);
    if (after == begin) return {begin, std::errc::invalid_argument};
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
    const std::string text(begin, after);
    Real read;
    if constexpr (std::is_same_v<Real, float>)
        read = strtof_l(text.c_str(), nullptr, c_locale);
    else
        read = strtod_l(text.c_str(), nullptr, c_locale);
    const std::string_view digits = std::string_view(text).substr(0, text.find_first_of("eE"));
    const bool is_number = (after[-1] >= '0' && after[-1] <= '9') || after[-1] == '.';
    const bool too_small = read == 0 && digits.find_first_of("123456789") != digits.npos;
    if (is_number && (std::isinf(read) || too_small)) return {after, std::errc::result_out_of_range};
    value = read;
    return {after, std::errc()};
}

}  // namespace number_text

/// std::from_chars of decimal numbers: reads the longest number at the beginning of [begin, end). Leaves `value` as it
/// is if there is none (invalid_argument) or if it is beyond the range of its type (result_out_of_range).
template <class Number>
std::from_chars_result from_chars(const char* begin, const char* end, Number& value) {
    if constexpr (requires { std::from_chars(begin, end, value); })
        return std::from_chars(begin, end, value);
    else
        return number_text::from_chars_by_c(begin, end, value);
}

}  // namespace hpo
