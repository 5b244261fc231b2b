#include "orchestrator/script/syntax/plain_text.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>

#include "hpo/printable.hpp"

namespace hpo::script {

namespace {

struct Sign {
    std::uint32_t first, last;  ///< range of code points
    const char* text;
};

/// In the order of their code points.
constexpr Sign signs[] = {
    {0x80, 0x9f, " "},         {0xa0, 0xa0, " "},         {0xa3, 0xa3, "$"},         {0xa5, 0xa5, "$"},
    {0xa6, 0xa6, "|"},         {0xa8, 0xa9, " "},         {0xab, 0xab, "\""},        {0xad, 0xad, ""},
    {0xb1, 0xb1, " +- "},      {0xb7, 0xb7, ","},         {0xbb, 0xbb, "\""},        {0xd7, 0xd7, "x"},
    {0x2000, 0x200a, " "},     {0x200b, 0x200f, ""},      {0x2010, 0x2015, "-"},     {0x2016, 0x2016, "|"},
    {0x2018, 0x201b, "'"},     {0x201c, 0x201f, "\""},    {0x2022, 0x2023, ","},     {0x2026, 0x2026, "..."},
    {0x2028, 0x202f, " "},     {0x2039, 0x203a, "'"},     {0x2060, 0x2064, ""},      {0x20a0, 0x20bf, "$"},
    {0x2190, 0x2191, " "},     {0x2192, 0x2192, "->"},    {0x2193, 0x21d1, " "},     {0x21d2, 0x21d2, "->"},
    {0x21d3, 0x21ff, " "},     {0x2212, 0x2212, "-"},     {0x2300, 0x23ff, " "},     {0x2500, 0x2501, "-"},
    {0x2502, 0x2503, "|"},     {0x2504, 0x2505, "-"},     {0x2506, 0x2507, "|"},     {0x2508, 0x2509, "-"},
    {0x250a, 0x250b, "|"},     {0x250c, 0x254b, "+"},     {0x254c, 0x254d, "-"},     {0x254e, 0x254f, "|"},
    {0x2550, 0x2550, "-"},     {0x2551, 0x2551, "|"},     {0x2552, 0x2573, "+"},     {0x2574, 0x257f, "-"},
    {0x2580, 0x259f, "#"},     {0x25a0, 0x2793, " "},     {0x2794, 0x27be, "->"},    {0x27f6, 0x27f9, "->"},
    {0x2800, 0x28ff, " "},     {0x2b00, 0x2bff, " "},     {0x3000, 0x3000, " "},     {0x3001, 0x3002, ","},
    {0x3008, 0x3011, "\""},    {0xfe00, 0xfe0f, ""},      {0xfeff, 0xfeff, ""},      {0xff01, 0xff0f, nullptr},
    {0xff10, 0xff19, nullptr}, {0xff1a, 0xff20, nullptr}, {0xff3b, 0xff40, nullptr}, {0xff5b, 0xff5e, nullptr},
    {0x1f000, 0x1faff, " "},
};

void append_utf8(std::uint32_t code, std::string& text) {
    const auto append = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (code < 0x80) return append(code);
    if (code < 0x800) {
        append(0xc0 | (code >> 6));
    } else {
        append(0xe0 | (code >> 12));
        append(0x80 | ((code >> 6) & 0x3f));
    }
    append(0x80 | (code & 0x3f));
}

/// Returns a line of UTF-16, as Windows writes it, in UTF-8. The first byte of the line may be the second one of the
/// newline before. Returns nothing if it is no such text: its letters, blanks and digits are in few of Unicode's rows
/// of 256, of which one is that of ASCII.
std::optional<std::string> from_utf16(std::string_view line) {
    constexpr std::size_t most_rows = 3;
    if (line.size() % 2 != 0 && line.starts_with('\0')) line.remove_prefix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() < 2 || line.size() % 2 != 0) return {};
    std::set<char> rows;
    for (std::size_t i = 0; i < line.size() && rows.size() <= most_rows; i += 2) rows.insert(line[i + 1]);
    if (rows.size() > most_rows || !rows.contains('\0')) return {};
    std::string text;
    for (std::size_t i = 0; i < line.size(); i += 2) {
        const auto low = static_cast<std::uint8_t>(line[i]), high = static_cast<std::uint8_t>(line[i + 1]);
        append_utf8(std::uint32_t{high} << 8 | low, text);
    }
    return text;
}

constexpr std::string_view syslog_tab = "#011";  ///< what syslog writes for a tab

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Returns true if `rest` begins with a tab of syslog between the end of a word or a bracket and a word: "[9]#011loss".
bool is_escaped_tab(std::string_view rest, std::string_view before) {
    return rest.starts_with(syslog_tab) && rest.size() > syslog_tab.size() && !before.empty() &&
           (is_alphanumeric(before.back()) || before.back() == ']') && is_alphanumeric(rest[syslog_tab.size()]);
}

}  // namespace

std::string plain_text(std::string_view line) {
    const auto narrow = line.find('\0') == std::string_view::npos ? std::nullopt : from_utf16(line);
    if (narrow) line = *narrow;
    std::string text;
    text.reserve(line.size());
    // Every other byte of UTF-16 is 0 where the text is ASCII.
    const bool is_wide = std::count(line.begin(), line.end(), '\0') > static_cast<std::ptrdiff_t>(line.size() / 3);
    while (!line.empty()) {
        const auto byte = static_cast<std::uint8_t>(line.front());
        if (byte < 0x80) {
            if (is_escaped_tab(line, text)) {
                text += '\t';
                line.remove_prefix(syslog_tab.size());
                continue;
            }
            if (byte == 0 && is_wide) {
                line.remove_prefix(1);
                continue;
            }
            text += (byte < 0x20 && byte != '\t') || byte == 0x7f ? ' ' : line.front();
            line.remove_prefix(1);
            continue;
        }
        std::uint32_t code = 0;
        const std::size_t length = detail::utf8_sequence(line, code);
        if (length == 0) {
            text += '?';
            line.remove_prefix(1);
            continue;
        }
        const auto sign = std::lower_bound(std::begin(signs), std::end(signs), code,
                                           [](const Sign& one, std::uint32_t at) { return one.last < at; });
        if (sign == std::end(signs) || code < sign->first)
            text += line.substr(0, length);
        else if (sign->text != nullptr)
            text += sign->text;
        else
            text += static_cast<char>(code - 0xfee0);  // a full-width sign
        line.remove_prefix(length);
    }
    return text;
}

}  // namespace hpo::script
