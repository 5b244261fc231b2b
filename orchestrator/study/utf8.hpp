// Functions on UTF-8 that study files need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hpo::study {

/// Returns the length in bytes of the code point that `text` begins with, or 0 if it does not begin with a valid one.
/// Overlong forms and surrogates are invalid.
constexpr std::size_t code_point_length(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
    };
    const auto tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
        return byte(i) >= low && byte(i) <= high;
    };
    const unsigned first = byte(0);
    if (text.empty()) return 0;
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF)
        return tail(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF) && tail(2) ? 3 : 0;
    if (first >= 0xF0 && first <= 0xF4)
        return tail(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF) && tail(2) && tail(3) ? 4 : 0;
    return 0;
}

/// Returns the number of a code point of code_point_length() bytes.
constexpr std::uint32_t code_point(std::string_view bytes) {
    const auto first = static_cast<unsigned char>(bytes[0]);
    std::uint32_t code = bytes.size() == 1 ? first : first & (0x7FU >> bytes.size());
    for (const char byte : bytes.substr(1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3FU);
    return code;
}

/// Returns true if a code point is a control character: C0 except tab, newline and carriage return, DEL, C1, line and
/// paragraph separators, directional marks (which reorder text on a terminal) and the byte order mark.
constexpr bool is_control(std::string_view point) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(point[i]); };
    if (point.size() == 1)
        return byte(0) == 0x7F || (byte(0) < 0x20 && point[0] != '\t' && point[0] != '\n' && point[0] != '\r');
    if (point.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
    if (point.size() == 3 && byte(0) == 0xE2)
        return (byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE) ||
               (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9);
    return point == "\xEF\xBB\xBF";
}

}  // namespace hpo::study
