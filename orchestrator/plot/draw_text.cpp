#include <algorithm>
#include <cmath>

#include "orchestrator/plot/drawing.hpp"
#include "orchestrator/plot/grid.hpp"

namespace hpo::plot {

namespace {

using view::Screen;
using view::Style;

/// Returns the largest width of the labels.
int widest(const Scale& scale, const std::vector<double>& ticks) {
    int width = 0;
    for (const double tick : ticks) width = std::max(width, view::columns(scale.text(tick)));
    return width;
}

std::string cut(const std::string& text, int width, const Screen& screen) {
    return view::columns(text) <= width ? text : view::pad_right(text, width, screen);
}

/// Writes the labels of a horizontal axis below an area, those that have room, and the name of the axis.
void write_below(Grid& grid, const Grid::Area& area, const Scale& x, int from) {
    const bool choice = x.unit == Scale::Unit::choice;
    const auto ticks = x.ticks(choice ? static_cast<int>(x.names.size()) : std::max(2, area.width / 12));
    const int row = area.row + area.height;
    for (int column = area.column; column < area.column + area.width; ++column)
        grid.write(column, row, grid.screen().utf8 ? "─" : "-", Style::dim);
    int free = from;
    const int room = choice ? std::max(3, area.width / static_cast<int>(x.names.size()) - 1) : area.width;
    for (const double tick : ticks) {
        const double at = x.at(tick);
        const int column = area.column + static_cast<int>(std::lround(at * (area.width - 1)));
        const std::string label = cut(x.text(tick), room, grid.screen());
        const int begin = std::clamp(column - view::columns(label) / 2, from,
                                     std::max(from, area.column + area.width - view::columns(label)));
        if (begin < free) continue;
        grid.write(column, row, grid.screen().utf8 ? "┬" : "+", Style::dim);
        grid.write(begin, row + 1, label, Style::dim);
        free = begin + view::columns(label) + 1;
    }
    const int all = area.column + area.width - from;
    const std::string name = cut(x.label, all, grid.screen());
    const int middle = area.column + (area.width - view::columns(name)) / 2;
    grid.write(std::clamp(middle, from, from + all - view::columns(name)), row + 2, name);
}

constexpr int below = 3;  ///< rows of a horizontal axis: a line, labels, the name

/// Writes the labels of a vertical axis on the left of an area.
void write_left(Grid& grid, const Grid::Area& area, const Scale& y, const std::vector<double>& ticks) {
    for (int row = area.row; row < area.row + area.height; ++row)
        grid.write(area.column - 1, row, grid.screen().utf8 ? "│" : "|", Style::dim);
    grid.write(area.column - 1, area.row + area.height, grid.screen().utf8 ? "└" : "+", Style::dim);
    int free = area.row + area.height;
    for (const double tick : ticks) {
        const int row = area.row + static_cast<int>(std::lround((1 - y.at(tick)) * (area.height - 1)));
        if (row < area.row || row >= free) continue;
        const std::string label = y.text(tick);
        grid.write(area.column - 2 - view::columns(label), row, label, Style::dim);
        grid.write(area.column - 1, row, grid.screen().utf8 ? "┤" : "+", Style::dim);
        free = row;
    }
}

/// Draws marks as characters, many marks as dots, and marks that would cover each other as shades. The marks of the
/// best trials stay visible as characters. Returns the largest number of marks below one shade; 0: none is drawn.
std::int64_t draw_marks(Grid& grid, const Grid::Area& area, const Panel& panel) {
    const auto cells = static_cast<std::size_t>(area.width * area.height), count = marks_of_others(panel);
    Density density(area.width, area.height);
    for (const Marks& marks : panel.marks) {
        const std::vector<Point> points = placed(panel, marks.points);
        const bool is_best = marks.tone == Tone::best;
        if (is_best || count <= cells / 2)
            grid.draw(area, points, marks.shape, marks.tone, !is_best && count > cells / 5);
        else
            for (const Point& point : points) density.add(point);
    }
    if (density.most() > 0) grid.shade(area, density);
    return density.most();
}

/// Draws paths, and those of the other trials as shades where they would cover each other. Returns the largest number
/// of paths below one shade; 0: none is drawn.
std::int64_t draw_paths(Grid& grid, const Grid::Area& area, const Panel& panel) {
    const bool many = paths_of_others(panel) > static_cast<std::size_t>(area.width + area.height);
    Density density(area.width, area.height);
    for (const Path& path : panel.paths) {
        const std::vector<Point> points = placed(panel, path.points);
        if (many && path.tone == Tone::faint)
            density.add(points);
        else
            grid.draw(area, points, path.tone);
    }
    if (density.most() > 0) grid.shade(area, density);
    return density.most();
}

/// Draws a chart with two axes into the `width` x `height` cells at a place. Returns the largest number of trials below
/// a shade.
std::int64_t draw_chart(Grid& grid, const Grid::Area& place, const Panel& panel) {
    const auto ticks = panel.y.ticks(std::clamp((place.height - below - 1) / 3, 2, 8));
    const int left = widest(panel.y, ticks) + 2;
    const Grid::Area area{place.column + left, place.row + 1, place.width - left, place.height - below - 1};
    if (area.width < 4 || area.height < 2) return 0;
    grid.write(place.column, place.row, cut(panel.y.label, place.width, grid.screen()));
    write_left(grid, area, panel.y, ticks);
    write_below(grid, area, panel.x, place.column);
    const std::int64_t most = draw_paths(grid, area, panel);
    if (most == 0) return draw_marks(grid, area, panel);
    // The ends of curves would hide the shades.
    for (const Marks& marks : panel.marks)
        if (marks.tone == Tone::best) grid.draw(area, placed(panel, marks.points), marks.shape, marks.tone, false);
    return most;
}

/// Draws parallel coordinates: the names above, the ends of each axis above and below it. Returns the largest number of
/// trials below a shade.
std::int64_t draw_uprights(Grid& grid, const Grid::Area& place, const Panel& panel) {
    const auto axes = static_cast<int>(panel.uprights.size());
    const int room = place.width / axes;
    const Grid::Area area{place.column + room / 2, place.row + 2, (axes - 1) * room + 1, place.height - 3};
    if (room < 3 || area.height < 2) return 0;
    for (int i = 0; i < axes; ++i) {
        const Scale& axis = panel.uprights[static_cast<std::size_t>(i)];
        const int column = area.column + i * room;
        const auto write = [&](int row, const std::string& text, Style style) {
            const std::string shown = cut(text, room - 1, grid.screen());
            grid.write(std::max(place.column, column - view::columns(shown) / 2), row, shown, style);
        };
        const bool choice = axis.unit == Scale::Unit::choice;
        write(place.row, axis.label, Style::strong);
        write(place.row + 1, choice && !axis.names.empty() ? axis.names.back() : axis.text(axis.high), Style::dim);
        write(area.row + area.height, choice && !axis.names.empty() ? axis.names.front() : axis.text(axis.low),
              Style::dim);
        for (int row = area.row; row < area.row + area.height; ++row)
            grid.write(column, row, grid.screen().utf8 ? "│" : "|", Style::dim);
    }
    return draw_paths(grid, area, panel);
}

struct Drawn {
    std::string text;
    std::int64_t densest = 0;  ///< the largest number of trials below one shade; 0: there is no shade
};

Drawn draw_panels(const Figure& figure, int width, const Screen& screen) {
    const auto count = static_cast<int>(figure.panels.size());
    const bool uprights = !figure.panels.front().uprights.empty();
    // Number of panels in a row, 36 columns each.
    const int beside = std::clamp(width / 38, 1, count), gap = 2;
    const int each = (width - gap * (beside - 1)) / beside;
    int height = std::clamp(each / 4, 10, 24);
    if (count == 1 && screen.height > 0) height = std::clamp(screen.height - 4, 10, height + 4);
    Drawn drawn;
    for (int first = 0; first < count; first += beside) {
        Grid grid(width, height, screen);
        for (int i = first; i < std::min(count, first + beside); ++i) {
            const Grid::Area place{(i - first) * (each + gap), 0, each, height};
            const Panel& panel = figure.panels[static_cast<std::size_t>(i)];
            const auto most = uprights ? draw_uprights(grid, place, panel) : draw_chart(grid, place, panel);
            drawn.densest = std::max(drawn.densest, most);
        }
        drawn.text += grid.text();
        if (first + beside < count) drawn.text += '\n';
    }
    return drawn;
}

std::string_view fill_of(Shape shape, bool utf8) {
    switch (shape) {
        case Shape::dot:
            return utf8 ? "█" : "#";
        case Shape::ring:
            return utf8 ? "▒" : "-";
        case Shape::cross:
            return utf8 ? "×" : "x";
        case Shape::star:
            return utf8 ? "▶" : ">";
    }
    return " ";
}

std::string draw_rows(const Figure& figure, int width, const Screen& screen) {
    int left = 0, right = 0;
    for (const Row& row : figure.rows) {
        left = std::max(left, view::columns(row.label));
        right = std::max(right, view::columns(row.text));
    }
    left = std::min(left, width / 3);
    const Grid::Area area{left + 1, 0, width - left - 1 - (right > 0 ? right + 1 : 0),
                          static_cast<int>(figure.rows.size())};
    if (area.width < 4) return {};
    Grid grid(width, area.height + below, screen);
    const auto column_of = [&](double value) {
        return area.column + static_cast<int>(std::lround(figure.across.at(value) * area.width));
    };
    for (int at = 0; at < area.height; ++at) {
        const Row& row = figure.rows[static_cast<std::size_t>(at)];
        grid.write(0, at, cut(row.label, left, screen));
        for (const Row::Bar& bar : row.bars) {
            const int begin = std::min(column_of(bar.from), area.column + area.width - 1);
            const int end =
                std::max(begin + (bar.text.empty() ? 0 : 1), column_of(bar.until));  // no trial is too short
            for (int column = begin; column < std::min(end, area.column + area.width); ++column)
                grid.write(column, at, fill_of(bar.shape, screen.utf8), style_of(bar.tone));
            // Beside a neighbour the number shows where one ends and the next begins.
            if (!bar.text.empty() && end - begin > view::columns(bar.text) + 1)
                grid.write(begin, at, bar.text, style_of(bar.tone));
        }
        grid.write(area.column + area.width + 1, at, row.text);
    }
    write_below(grid, area, figure.across, 0);
    return grid.text();
}

/// Returns the keys and notes, wrapped at the width. `densest` is that of Drawn.
std::string draw_notes(const Figure& figure, std::int64_t densest, int width, const Screen& screen) {
    std::string text;
    view::Line line;
    Screen narrow = screen;
    narrow.width = width;
    const auto flush = [&] {
        if (line.width() > 0) text += line.render(narrow) + '\n';
        line = {};
    };
    if (densest > 0) {
        for (int level = 1; level <= Grid::shades; ++level) line.add(shade_of(level, screen.utf8));
        line.add(" " + density_text(densest), Style::dim);
    }
    for (const Key& key : densest > 0 ? keys_above_density(figure.keys) : figure.keys) {
        const std::string_view path = screen.utf8               ? (key.tone == Tone::faint ? "·" : "⠒")
                                      : key.tone == Tone::faint ? "."
                                                                : "*";
        const std::string_view sign = !figure.rows.empty() ? fill_of(key.shape, screen.utf8)
                                      : key.line           ? path
                                                           : sign_of(key.shape, screen.utf8);
        if (line.width() > 0 && line.width() + 5 + view::columns(key.text) > width) flush();
        if (line.width() > 0) line.add("   ");
        line.add(sign, style_of(key.tone)).add(" " + key.text, Style::dim);
    }
    flush();
    for (const std::string& note : figure.notes) {
        std::string rest = note;
        while (!rest.empty()) {
            std::string part(view::cut(rest, width));
            if (part.size() < rest.size())
                if (const auto blank = part.rfind(' '); blank != std::string::npos) part.resize(blank);
            line.add(part, Style::dim);
            flush();
            rest.erase(0, part.size());
            rest.erase(0, rest.find_first_not_of(' '));
        }
    }
    return text;
}

}  // namespace

std::string draw_text(const Figure& figure, const Screen& screen) {
    const int width = screen.width > 0 ? std::max(screen.width, 20) : 80;
    Screen own = screen;
    own.width = width;
    std::string text = view::Line().add(figure.title, Style::strong).render(own) + '\n';
    const Drawn drawn = figure.rows.empty() ? draw_panels(figure, width, own) : Drawn{draw_rows(figure, width, own)};
    return text + drawn.text + draw_notes(figure, drawn.densest, width, own);
}

}  // namespace hpo::plot
