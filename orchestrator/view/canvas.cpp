#include "orchestrator/view/canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "hpo/printable.hpp"

namespace hpo::view {
namespace {

struct Range {
    std::uint32_t first, last;
};

bool is_in(std::span<const Range> ranges, std::uint32_t code) {
    const auto after = std::upper_bound(ranges.begin(), ranges.end(), code,
                                        [](std::uint32_t value, const Range& range) { return value < range.first; });
    return after != ranges.begin() && code <= (after - 1)->last;
}

/// Returns the columns that a terminal gives a code point: two for those that are wide (Unicode's annex 11, and emoji),
/// none for marks that combine with the one before.
int columns_of(std::uint32_t code) {
    static constexpr Range combining[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
                                          {0x64b, 0x65f},   {0x900, 0x902},   {0x93c, 0x93c},   {0x941, 0x948},
                                          {0x94d, 0x94d},   {0xe31, 0xe31},   {0xe34, 0xe3a},   {0xe47, 0xe4e},
                                          {0x1160, 0x11ff}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
                                          {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
    static constexpr Range wide[] = {
        {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},   {0x23f0, 0x23f0},
        {0x23f3, 0x23f3},   {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267f, 0x267f},
        {0x2693, 0x2693},   {0x26a1, 0x26a1},   {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},
        {0x26ce, 0x26ce},   {0x26d4, 0x26d4},   {0x26ea, 0x26ea},   {0x26f2, 0x26f3},   {0x26f5, 0x26f5},
        {0x26fa, 0x26fa},   {0x26fd, 0x26fd},   {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},
        {0x274c, 0x274c},   {0x274e, 0x274e},   {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},
        {0x27b0, 0x27b0},   {0x27bf, 0x27bf},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2b55, 0x2b55},
        {0x2e80, 0x303e},   {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
        {0x16fe0, 0x18cff}, {0x1b000, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e},
        {0x1f191, 0x1f19a}, {0x1f200, 0x1f265}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb},
        {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};
    return is_in(combining, code) ? 0 : is_in(wide, code) ? 2 : 1;
}

/// Returns true if each byte takes a column.
bool is_ascii(std::string_view text) {
    unsigned char bits = 0;  // without a branch for each byte, as most texts are
    for (const char c : text) bits |= static_cast<unsigned char>(c);
    return bits < 0x80;
}

std::string shortened(std::string_view text, int width, const Screen& screen) {
    if (width <= 0) return {};
    if (columns(text) <= width) return std::string(text);
    const std::string_view ellipsis = screen.utf8 ? "…" : width > 3 ? "..." : "";
    return std::string(cut(text, width - columns(ellipsis))).append(ellipsis);
}

/// Returns the text for a terminal that shows ASCII alone: a question mark for each column of other characters.
std::string in_ascii(std::string_view text) {
    std::string shown;
    while (!text.empty()) {
        std::uint32_t code = 0;
        const auto length = std::max<std::size_t>(1, detail::utf8_sequence(text, code));
        if (static_cast<unsigned char>(text[0]) < 0x80)
            shown += text[0];
        else
            shown.append(static_cast<std::size_t>(columns_of(code)), '?');
        text.remove_prefix(length);
    }
    return shown;
}

std::string_view escape(Style style) {
    switch (style) {
        case Style::plain:
            return "";
        case Style::strong:
            return "\x1b[1m";
        case Style::dim:
            return "\x1b[2m";
        case Style::good:
            return "\x1b[32m";
        case Style::notice:
            return "\x1b[33m";
        case Style::bad:
            return "\x1b[31m";
        case Style::accent:
            return "\x1b[36m";
        case Style::chosen:
            return "\x1b[7m";
    }
    return "";
}

}  // namespace

std::string_view cut(std::string_view text, int width) {
    if (is_ascii(text)) return text.substr(0, static_cast<std::size_t>(std::max(0, width)));
    std::size_t at = 0;
    int used = 0;
    while (at < text.size()) {
        std::uint32_t code = 0;
        const auto length = std::max<std::size_t>(1, detail::utf8_sequence(text.substr(at), code));
        const int taken = columns_of(code);
        if (used + taken > width) break;
        used += taken;
        at += length;
    }
    return text.substr(0, at);
}

int columns(std::string_view text) {
    if (is_ascii(text)) return static_cast<int>(text.size());
    int count = 0;
    while (!text.empty()) {
        std::uint32_t code = 0;
        const auto length = std::max<std::size_t>(1, detail::utf8_sequence(text, code));
        count += columns_of(code);
        text.remove_prefix(length);
    }
    return count;
}

std::string pad_right(std::string_view text, int width, const Screen& screen) {
    const int own = columns(text);
    std::string shown = own > width ? shortened(text, width, screen) : std::string(text);
    return shown.append(static_cast<std::size_t>(std::max(0, width - (own > width ? columns(shown) : own))), ' ');
}

std::string pad_left(std::string_view text, int width, const Screen& screen) {
    if (columns(text) > width) {
        const std::string shown = shortened(text, width, screen);
        return std::string(static_cast<std::size_t>(std::max(0, width - columns(shown))), ' ') + shown;
    }
    return std::string(static_cast<std::size_t>(width - columns(text)), ' ').append(text);
}

Line& Line::add(std::string_view text, Style style) {
    const int width = columns(text);
    text_ += text;
    pieces_.push_back({text_.size(), style, width});
    width_ += width;
    return *this;
}

Line& Line::to(int column) {
    if (width_ < column) add(std::string(static_cast<std::size_t>(column - width_), ' '));
    return *this;
}

std::string Line::render(const Screen& screen, bool chosen) const {
    std::string text;
    text.reserve(text_.size());
    int left = screen.width > 0 ? screen.width : std::numeric_limits<int>::max();
    if (chosen && screen.colour) text += escape(Style::chosen);
    for (std::size_t i = 0, begin = 0; i < pieces_.size() && left > 0; begin = pieces_[i++].end) {
        const Piece& piece = pieces_[i];
        const std::string_view whole = std::string_view(text_).substr(begin, piece.end - begin);
        const auto code = screen.colour && !chosen ? escape(piece.style) : "";
        text += code;
        const std::string cut = piece.width > left ? shortened(whole, left, screen) : std::string();
        const std::string_view shown = piece.width > left ? cut : whole;
        left -= piece.width > left ? columns(cut) : piece.width;
        if (screen.utf8 || screen.width <= 0)
            text += shown;
        else
            text += in_ascii(shown);
        if (!code.empty()) text += "\x1b[0m";
    }
    if (chosen && screen.colour && screen.width > 0) {
        text.append(static_cast<std::size_t>(std::max(left, 0)), ' ');
        text += "\x1b[0m";
    } else {
        while (text.ends_with(' ')) text.pop_back();
    }
    return text;
}

void Canvas::add(const Line& line, bool chosen) {
    if (above_ > 0) return skip(1);
    if (rows_ >= screen_.height) return;
    ++rows_;
    text_ += line.render(screen_, chosen);
    text_ += '\n';
}

std::string sparkline(std::span<const double> values, int width, bool utf8) {
    static constexpr std::array<std::string_view, 8> blocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static constexpr std::array<std::string_view, 5> ascii{"_", ".", "-", "=", "^"};
    if (width <= 0 || values.empty()) return {};
    std::vector<double> shown;
    const auto count = std::min(values.size(), static_cast<std::size_t>(width));
    for (std::size_t i = 0; i < count; ++i) {
        const auto from = i * values.size() / count, to = (i + 1) * values.size() / count;
        double sum = 0;
        for (auto at = from; at < to; ++at) sum += values[at];
        shown.push_back(sum / static_cast<double>(to - from));
    }
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (double value : shown)
        if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
    const std::size_t levels = utf8 ? blocks.size() : ascii.size();
    std::string text;
    for (double value : shown) {
        if (!std::isfinite(value)) {
            text += '!';
            continue;
        }
        const double height = high > low ? (value - low) / (high - low) : 0;
        const auto level = std::min(levels - 1, static_cast<std::size_t>(height * static_cast<double>(levels)));
        text += utf8 ? blocks[level] : ascii[level];
    }
    return text;
}

void add_bar(Line& line, double fraction, int width, const Screen& screen) {
    const double part = std::clamp(std::isfinite(fraction) ? fraction : 0.0, 0.0, 1.0);
    const int full = static_cast<int>(std::lround(part * width));
    std::string done, open;
    for (int i = 0; i < full; ++i) done += screen.utf8 ? "━" : "#";
    for (int i = full; i < width; ++i) open += screen.utf8 ? "─" : "-";
    line.add(done, Style::good).add(open, Style::dim);
}

}  // namespace hpo::view
