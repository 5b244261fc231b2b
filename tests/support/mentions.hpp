// Matches a message by the things that it names: numbers, keys, places, quoted texts. The words around them are free to
// become better English (tests/pins_test.py).
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hpo {

/// True if the line has the part. A number at an end of the part is a whole one in the line: 15, 52 and 0.5 have no 5.
inline bool names_part(std::string_view line, std::string_view part) {
    const auto digit = [](std::string_view text, std::size_t at) {
        return at < text.size() && text[at] >= '0' && text[at] <= '9';
    };
    for (std::size_t at = line.find(part); at != std::string_view::npos; at = line.find(part, at + 1)) {
        const std::size_t end = at + part.size();
        const bool began_before =
            digit(part, 0) && (digit(line, at - 1) || (at > 0 && line[at - 1] == '.' && digit(line, at - 2)));
        const bool goes_on = digit(part, part.size() - 1) &&
                             (digit(line, end) || (end < line.size() && line[end] == '.' && digit(line, end + 1)));
        if (!began_before && !goes_on) return true;
    }
    return false;
}

MATCHER_P(MentionsParts, parts, "has a line that names " + ::testing::PrintToString(parts)) {
    using Text = std::conditional_t<std::is_convertible_v<arg_type, std::string>, std::string, std::string_view>;
    const Text text = arg;
    std::string_view rest = text;
    while (true) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        if (std::all_of(parts.begin(), parts.end(), [line](const std::string& part) { return names_part(line, part); }))
            return true;
        if (line.size() == rest.size()) return false;
        rest.remove_prefix(line.size() + 1);
    }
}

/// Matches a text of which one line contains all parts, in any order, numbers as whole ones.
template <class... Parts>
auto Mentions(const Parts&... parts) {
    return MentionsParts(std::vector<std::string>{std::string(parts)...});
}

}  // namespace hpo
