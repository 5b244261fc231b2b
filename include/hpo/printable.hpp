// Escapes text from workers, logs and files for a terminal: control characters and bytes that are not UTF-8.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace hpo {

namespace detail {
/// Returns the length of the well-formed UTF-8 sequence that `text` begins with, or 0 if there is none. Sets `code` to
/// its code point.
inline std::size_t utf8_sequence(std::string_view text, std::uint32_t& code) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t first = byte(0);
    const std::size_t length = first < 0x80         ? 1
                               : first >> 5 == 0x6  ? 2
                               : first >> 4 == 0xe  ? 3
                               : first >> 3 == 0x1e ? 4
                                                    : 0;
    if (length == 0 || text.size() < length) return 0;
    code = length == 1 ? first : first & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if (byte(i) >> 6 != 2) return 0;
        code = code << 6 | (byte(i) & 0x3fU);
    }
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    return code < least[length] || code > 0x10ffff || surrogate ? 0 : length;
}
}  // namespace detail

/// Replaces control characters (C0, DEL, C1, and those that change the direction of text) and invalid bytes by escapes
/// such as \x1b. A tab becomes a blank. Newlines are kept if `keep_newlines`.
inline std::string printable(std::string_view text, bool keep_newlines = false) {
    if (std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; })) return std::string(text);
    constexpr const char* digits = "0123456789abcdef";
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        std::uint32_t code = 0;
        std::size_t length = detail::utf8_sequence(text, code);
        const bool changes_direction = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
        const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || changes_direction;
        if (length == 1 && code == '\t') {
            shown += ' ';
        } else if (length > 0 && (!control || (keep_newlines && code == '\n'))) {
            shown += text.substr(0, length);
        } else {
            if (length == 0) length = 1;
            for (const char c : text.substr(0, length)) {
                const auto byte = static_cast<std::uint8_t>(c);
                shown += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
            }
        }
        text.remove_prefix(length);
    }
    return shown;
}

/// Like printable(), but joins the lines with single blanks and removes the blanks around them.
inline std::string printable_line(std::string_view text) {
    std::string line;
    for (std::size_t end = 0; !text.empty(); text.remove_prefix(end)) {
        end = std::min(text.find('\n'), text.size() - 1) + 1;
        std::string_view part = text.substr(0, end);
        while (!part.empty() && (part.back() == '\n' || part.back() == ' ')) part.remove_suffix(1);
        while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
        if (!part.empty()) line += (line.empty() ? "" : " ") + printable(part);
    }
    return line;
}

}  // namespace hpo
