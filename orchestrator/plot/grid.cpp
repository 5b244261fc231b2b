#include "orchestrator/plot/grid.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "hpo/printable.hpp"
#include "orchestrator/plot/trace.hpp"

namespace hpo::plot {

view::Style style_of(Tone tone) {
    switch (tone) {
        case Tone::faint:
            return view::Style::dim;
        case Tone::plain:
            return view::Style::plain;
        case Tone::bad:
            return view::Style::bad;
        case Tone::line:
            return view::Style::accent;
        case Tone::best:
            return view::Style::good;
    }
    return view::Style::plain;
}

std::string_view sign_of(Shape shape, bool utf8) {
    static constexpr std::array<std::string_view, 4> signs{"●", "○", "×", "◆"}, ascii{"@", "o", "x", "#"};
    return (utf8 ? signs : ascii)[static_cast<std::size_t>(shape)];
}

std::string_view shade_of(int level, bool utf8) {
    static constexpr std::array<std::string_view, Grid::shades> blocks{"░", "▒", "▓", "█"}, ascii{".", ":", "+", "%"};
    return (utf8 ? blocks : ascii)[static_cast<std::size_t>(level - 1)];
}

Grid::Grid(int width, int height, const view::Screen& screen)
    : width_(std::max(width, 1)), height_(std::max(height, 1)), screen_(screen) {
    screen_.width = width_;
    cells_.resize(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_));
}

void Grid::write(int column, int row, std::string_view text, view::Style style) {
    if (row < 0 || row >= height_) return;
    while (!text.empty()) {
        std::uint32_t code = 0;
        const auto length = std::max<std::size_t>(1, detail::utf8_sequence(text, code));
        const std::string_view character = text.substr(0, length);
        const int taken = view::columns(character);
        text.remove_prefix(length);
        if (taken == 0 && column > 0 && column <= width_) cell(column - 1, row).text += character;
        if (taken > 0 && column >= 0 && column + taken <= width_) {
            cell(column, row) = {.text = std::string(character), .style = style};
            if (taken == 2) cell(column + 1, row) = {.covered = true};
        }
        column += taken;
    }
}

void Grid::dot(const Area& area, double x, double y, Tone tone) {
    if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1)) return;
    const int wide = area.width * (screen_.utf8 ? 2 : 1), high = area.height * (screen_.utf8 ? 4 : 1);
    const int across = static_cast<int>(std::lround(x * (wide - 1)));
    const int down = static_cast<int>(std::lround((1 - y) * (high - 1)));
    static constexpr std::array<std::array<unsigned, 2>, 4> bits{
        {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
    Cell& at = screen_.utf8 ? cell(area.column + across / 2, area.row + down / 4)
                            : cell(area.column + across, area.row + down);
    at.tone = at.dots == 0 ? tone : std::max(at.tone, tone);
    at.dots |= screen_.utf8 ? bits[static_cast<std::size_t>(down % 4)][static_cast<std::size_t>(across % 2)] : 1U;
}

void Grid::draw(const Area& area, const std::vector<Point>& path, Tone tone) {
    trace(path, area.width * 2, area.height * 4, [&](double x, double y) { dot(area, x, y, tone); });
}

void Grid::shade(const Area& area, const Density& density) {
    const std::vector<int> levels = density.levels(shades);
    for (int row = 0; row < area.height; ++row)
        for (int column = 0; column < area.width; ++column)
            cell(area.column + column, area.row + row).shade =
                levels[static_cast<std::size_t>(row * density.columns() + column)];
}

void Grid::draw(const Area& area, const std::vector<Point>& points, Shape shape, Tone tone, bool many) {
    for (const Point& point : points) {
        if (!(point.x >= 0 && point.x <= 1 && point.y >= 0 && point.y <= 1)) continue;
        if (many) {
            dot(area, point.x, point.y, tone);
            continue;
        }
        write(area.column + static_cast<int>(std::lround(point.x * (area.width - 1))),
              area.row + static_cast<int>(std::lround((1 - point.y) * (area.height - 1))), sign_of(shape, screen_.utf8),
              style_of(tone));
    }
}

std::string Grid::text() const {
    Tone most = Tone::faint;
    for (const Cell& cell : cells_)
        if (cell.dots != 0) most = std::max(most, cell.tone);
    std::string all;
    for (int row = 0; row < height_; ++row) {
        view::Line line;
        std::string run;
        view::Style style = view::Style::plain;
        for (int column = 0; column < width_; ++column) {
            const Cell& cell = cells_[static_cast<std::size_t>(row * width_ + column)];
            if (cell.covered) continue;
            std::string shown = cell.text;
            view::Style wanted = cell.style;
            if (shown.empty() && cell.dots != 0) {
                wanted = style_of(cell.tone);
                // Single points tell faint paths from the others, also without colours.
                const bool thin = cell.tone == Tone::faint && most > Tone::faint;
                const auto code = 0x2800 + cell.dots;
                if (!screen_.utf8)
                    shown = cell.tone == Tone::faint ? "." : "*";
                else if (thin)
                    shown = "·";
                else
                    shown = {static_cast<char>(0xe0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3f)),
                             static_cast<char>(0x80 | (code & 0x3f))};
            }
            if (shown.empty() && cell.shade > 0) shown = shade_of(cell.shade, screen_.utf8);
            if (shown.empty()) shown = " ";
            if (wanted != style && shown != " ") line.add(run, style), run.clear(), style = wanted;
            run += shown;
        }
        line.add(run, style);
        all += line.render(screen_) + '\n';
    }
    return all;
}

}  // namespace hpo::plot
