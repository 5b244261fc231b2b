// Matches a message by the things that it names: numbers, keys, places, quoted texts. The words around them are free to
// become better English (tests/pins_test.py).
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hpo {

inline bool digit_at(std::string_view text, std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

/// True if the number with a digit at `at` began before it: 15, 0.5, 1,500, 1e5, 1e-5 and -5 do. The hyphen of step-5
/// is no sign.
inline bool number_began_before(std::string_view text, std::size_t at) {
    if (at == 0) return false;
    const char before = text[at - 1];
    if (before == '.' || before == ',' || before == 'e') return digit_at(text, at - 2);
    if (before != '-' && before != '+') return digit_at(text, at - 1);
    if (at > 2 && text[at - 2] == 'e' && digit_at(text, at - 3)) return true;
    return before == '-' && (at == 1 || std::isalnum(static_cast<unsigned char>(text[at - 2])) == 0);
}

/// True if the number whose digit stands before `at` goes on there: 52, 5.2, 5,000, 5e3 and 5e-3 do.
inline bool number_goes_on(std::string_view text, std::size_t at) {
    if (at >= text.size()) return false;
    if (text[at] == '.' || text[at] == ',') return digit_at(text, at + 1);
    if (text[at] != 'e') return digit_at(text, at);
    const bool sign = at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+');
    return digit_at(text, at + (sign ? 2 : 1));
}

/// Returns the end of the part's first place at or behind `from`, npos if there is none. A number at an end of the part
/// is a whole one in the line: 15, 52, 0.5, 5,000, -5 and 1e5 have no 5.
inline std::size_t end_of_part(std::string_view line, std::string_view part, std::size_t from = 0) {
    for (std::size_t at = line.find(part, from); at != std::string_view::npos; at = line.find(part, at + 1)) {
        const std::size_t end = at + part.size();
        const bool began_before = digit_at(part, 0) && number_began_before(line, at);
        const bool goes_on = digit_at(part, part.size() - 1) && number_goes_on(line, end);
        if (!began_before && !goes_on) return end;
    }
    return std::string_view::npos;
}

/// True if the line has the part, as a whole number where it is one.
inline bool names_part(std::string_view line, std::string_view part) {
    return end_of_part(line, part) != std::string_view::npos;
}

/// True if `holds` of any line of the text.
template <class Holds>
bool any_line(std::string_view text, const Holds& holds) {
    while (true) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (holds(line)) return true;
        if (line.size() == text.size()) return false;
        text.remove_prefix(line.size() + 1);
    }
}

MATCHER_P(MentionsParts, parts, "has a line that names " + ::testing::PrintToString(parts)) {
    using Text = std::conditional_t<std::is_convertible_v<arg_type, std::string>, std::string, std::string_view>;
    const Text text = arg;
    return any_line(text, [&](std::string_view line) {
        return std::all_of(parts.begin(), parts.end(),
                           [line](const std::string& part) { return names_part(line, part); });
    });
}

/// Matches a text of which one line contains all parts, in any order, numbers as whole ones.
template <class... Parts>
auto Mentions(const Parts&... parts) {
    return MentionsParts(std::vector<std::string>{std::string(parts)...});
}

/// True if the line names the parts one after the other.
inline bool names_in_order(std::string_view line, const std::vector<std::string>& parts) {
    std::size_t from = 0;
    for (const std::string& part : parts) {
        from = end_of_part(line, part, from);
        if (from == std::string_view::npos) return false;
    }
    return true;
}

MATCHER_P(MentionsPartsInOrder, parts, "has a line that names " + ::testing::PrintToString(parts) + " in this order") {
    using Text = std::conditional_t<std::is_convertible_v<arg_type, std::string>, std::string, std::string_view>;
    const Text text = arg;
    return any_line(text, [&](std::string_view line) { return names_in_order(line, parts); });
}

/// As Mentions, for facts that mean something else in another order ("9 of 16 GiB"): each part begins behind the end of
/// the one before, so that the same number twice is there twice.
template <class... Parts>
auto MentionsInOrder(const Parts&... parts) {
    return MentionsPartsInOrder(std::vector<std::string>{std::string(parts)...});
}

}  // namespace hpo
