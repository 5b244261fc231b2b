#include "worker/data/field_kinds.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "worker/data/csv_columns.hpp"

namespace hpo {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

/// Removes digits at the beginning. Returns how many there were.
std::size_t skip_digits(std::string_view& text) {
    std::size_t count = 0;
    while (count < text.size() && is_digit(text[count])) ++count;
    text.remove_prefix(count);
    return count;
}

/// Three groups of digits with the same sign between them, before any text.
bool begins_with_numeric_date(std::string_view text) {
    char sign = 0;
    for (int group = 0; group < 3; ++group) {
        const std::size_t digits = skip_digits(text);
        if (digits == 0 || digits > 4) return false;
        if (group == 2) return true;
        if (text.empty() || (group == 1 && text.front() != sign)) return false;
        sign = text.front();
        text.remove_prefix(1);
        if (sign != '-' && sign != '.' && sign != '/') return false;
    }
    return false;
}

/// 2024-01 or 2024/1.
bool is_month_of_year(std::string_view text) {
    if (text.size() < 6 || text.size() > 7 || !all_digits(text.substr(0, 4)) || !all_digits(text.substr(5)))
        return false;
    const auto century = text.substr(0, 2), month = text.substr(5);
    return (century == "19" || century == "20") && (text[4] == '-' || text[4] == '/') && month != "0" &&
           month != "00" && (month.size() == 1 || month <= "12");
}

/// 9:30, 10:30:12 or 10:30:12.5.
bool is_time_of_day(std::string_view text) {
    for (int part = 0; part < 3; ++part) {
        const std::size_t digits = skip_digits(text);
        if (digits == 0 || digits > 2 || (part > 0 && digits != 2)) return false;
        if (text.empty()) return part > 0;
        const char next = text.front();
        text.remove_prefix(1);
        if (part == 2) return next == '.' && all_digits(text);
        if (next != ':') return false;
    }
    return false;
}

/// Returns true if the text is one of the names, or at least their first three letters.
bool names_one_of(std::string_view text, std::span<const std::string_view> names) {
    if (text.size() < 3) return false;
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return name.starts_with(lower); });
}

/// A month by its name with numbers beside it, and nothing else than a weekday, a time and its zone.
bool is_date_with_name(std::string_view text) {
    constexpr std::array<std::string_view, 12> months{"january",   "february", "march",    "april",
                                                      "may",       "june",     "july",     "august",
                                                      "september", "october",  "november", "december"};
    constexpr std::array<std::string_view, 11> others{
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "gmt", "utc", "cet", "cest"};
    int named = 0, numbers = 0;
    constexpr std::string_view between = " ,.-/";
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(between), text.size()));
        if (text.empty()) return named == 1 && numbers > 0;
        const std::string_view word = text.substr(0, text.find_first_of(between));
        text.remove_prefix(word.size());
        if (names_one_of(word, months))
            ++named;
        else if (all_digits(word) && word.size() <= 4)
            ++numbers;
        else if (!is_time_of_day(word) && !names_one_of(word, others) && word != "AM" && word != "PM")
            return false;
    }
}

/// Digits in groups of three with a separator between them, or without any; removed from `text`.
bool skip_grouped_digits(std::string_view& text, char separator) {
    const std::size_t first = skip_digits(text);
    if (first == 0) return false;
    while (first <= 3 && text.size() >= 4 && text.front() == separator && all_digits(text.substr(1, 3)) &&
           (text.size() == 4 || !is_digit(text[4])))
        text.remove_prefix(4);
    return true;
}

bool is_grouped(std::string_view text, char separator, char point) {
    if (!skip_grouped_digits(text, separator)) return false;
    if (text.empty()) return true;
    if (text.front() != point) return false;
    text.remove_prefix(1);
    return text.empty() || all_digits(text);
}

/// Removes the first of the signs that the text begins or ends with. Returns whether there was one.
bool remove_sign(std::string_view& text, std::span<const std::string_view> signs) {
    for (const std::string_view sign : signs) {
        if (text.starts_with(sign)) return text = trimmed_field(text.substr(sign.size())), true;
        if (text.ends_with(sign)) return text = trimmed_field(text.substr(0, text.size() - sign.size())), true;
    }
    return false;
}

}  // namespace

bool is_date(std::string_view text) {
    return begins_with_numeric_date(text) || is_month_of_year(text) || is_time_of_day(text) || is_date_with_name(text);
}

bool is_formatted_number(std::string_view text) {
    constexpr std::array<std::string_view, 5> signs{"$", "\u20AC", "\u00A3", "\u00A5", "%"};
    text = trimmed_field(text);
    const bool negative = text.starts_with('-') || text.starts_with('+');
    if (negative) text.remove_prefix(1);
    const bool has_sign = remove_sign(text, signs);
    if (!negative && has_sign && (text.starts_with('-') || text.starts_with('+'))) text.remove_prefix(1);
    if (has_sign && number_of(text)) return true;
    return is_grouped(text, ',', '.') || is_grouped(text, '.', ',') || is_grouped(text, ' ', '.') ||
           is_grouped(text, ' ', ',') || is_grouped(text, '\'', '.') || is_grouped(text, '_', '.');
}

}  // namespace hpo
