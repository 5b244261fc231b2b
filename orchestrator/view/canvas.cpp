#include "orchestrator/view/canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "hpo/printable.hpp"

namespace hpo::view {
namespace {

/// Returns true for code points that take no column of their own.
bool is_combining(std::uint32_t code) {
    return (code >= 0x300 && code < 0x370) || (code >= 0x200b && code <= 0x200f) || (code >= 0xfe00 && code <= 0xfe0f);
}

/// Returns true if each byte takes a column.
bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string shortened(std::string_view text, int width, const Screen& screen) {
    if (width <= 0) return {};
    if (columns(text) <= width) return std::string(text);
    const std::string_view ellipsis = screen.utf8 ? "…" : width > 3 ? "..." : "";
    return std::string(cut(text, width - columns(ellipsis))).append(ellipsis);
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
        const int taken = is_combining(code) ? 0 : 1;
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
        if (!is_combining(code)) ++count;
        text.remove_prefix(length);
    }
    return count;
}

std::string pad_right(std::string_view text, int width, const Screen& screen) {
    std::string shown = shortened(text, width, screen);
    return shown.append(static_cast<std::size_t>(std::max(0, width - columns(shown))), ' ');
}

std::string pad_left(std::string_view text, int width, const Screen& screen) {
    const std::string shown = shortened(text, width, screen);
    return std::string(static_cast<std::size_t>(std::max(0, width - columns(shown))), ' ') + shown;
}

Line& Line::add(std::string_view text, Style style) {
    pieces_.push_back({std::string(text), style});
    width_ += columns(text);
    return *this;
}

Line& Line::to(int column) {
    if (width_ < column) add(std::string(static_cast<std::size_t>(column - width_), ' '));
    return *this;
}

std::string Line::render(const Screen& screen, bool chosen) const {
    std::string text;
    int left = screen.width > 0 ? screen.width : std::numeric_limits<int>::max();
    if (chosen && screen.colour) text += escape(Style::chosen);
    for (std::size_t i = 0; i < pieces_.size() && left > 0; ++i) {
        const bool last = i + 1 == pieces_.size();
        // A piece is cut if it does not fit, or if it fits exactly and another one follows.
        const int wanted = columns(pieces_[i].text);
        const std::string shown =
            wanted < left || (wanted == left && last) ? pieces_[i].text : shortened(pieces_[i].text, left, screen);
        left -= columns(shown);
        const auto code = screen.colour && !chosen ? escape(pieces_[i].style) : "";
        text += code;
        text += shown;
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
