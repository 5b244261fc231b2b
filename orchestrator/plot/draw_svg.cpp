#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hpo/printable.hpp"
#include "orchestrator/plot/density.hpp"
#include "orchestrator/plot/drawing.hpp"

namespace hpo::plot {

namespace {

/// Colours of the page of `hpo report` (page/src/style.css); contrast AA in both themes.
constexpr std::string_view style = R"(<style>
svg{--sheet:#fff;--ink:#1b1f24;--soft:#57606a;--grid:#dfe3e8;--accent:#0b62c4;--best:#9a4d00;--bad:#b3261e;--mild:#6f86a3;
font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:var(--ink)}
@media (prefers-color-scheme:dark){svg{--sheet:#16181d;--ink:#e8eaed;--soft:#a3acb7;--grid:#30353d;--accent:#6cb0ff;--best:#ffb454;--bad:#ff8a80;--mild:#7c93b3}}
.sheet{fill:var(--sheet)}.title{font-size:15px;font-weight:600}.soft{fill:var(--soft)}.grid{stroke:var(--grid)}
.faint{--tone:var(--mild)}.plain{--tone:var(--mild)}.bad{--tone:var(--bad)}.line{--tone:var(--accent)}.best{--tone:var(--best)}
path{fill:none;stroke:var(--tone);stroke-linejoin:round}path.faint{stroke-width:.8;opacity:.5}path.line,path.best{stroke-width:2}
.fill{fill:var(--tone);stroke:none}.round{stroke-linecap:round}
path.mark{opacity:1;stroke-width:1.3}path.dot{stroke-width:6.6}path.small.dot{stroke-width:4.4}path.star{fill:var(--tone)}
.inside{fill:var(--sheet);font-size:10px}.spread{stroke:var(--ink)}
.density{stroke:var(--mild);stroke-width:4;shape-rendering:crispEdges}.density.key{stroke-width:10}.d1{opacity:.2}.d2{opacity:.34}.d3{opacity:.48}.d4{opacity:.62}.d5{opacity:.78}.d6{opacity:.95}
.halo{paint-order:stroke;stroke:var(--sheet);stroke-width:3px}
</style>
)";

std::string escaped(std::string_view text) {
    std::string safe;
    for (const char c : printable_line(text)) switch (c) {
            case '<':
                safe += "&lt;";
                break;
            case '>':
                safe += "&gt;";
                break;
            case '&':
                safe += "&amp;";
                break;
            case '"':
                safe += "&quot;";
                break;
            default:
                safe += c;
        }
    return safe;
}

std::string_view name_of(Tone tone) {
    static constexpr std::string_view names[] = {"faint", "plain", "bad", "line", "best"};
    return names[static_cast<std::size_t>(tone)];
}

/// Returns a coordinate with one decimal at most.
std::string number(double value) {
    std::string text = fmt::format("{:.1f}", value);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text == "-0" ? "0" : text;
}

struct Box {
    double x = 0, y = 0, width = 0, height = 0;

    /// Returns where the point (0..1, 0..1) lies, from the bottom left.
    [[nodiscard]] Point at(double across, double up) const { return {x + across * width, y + (1 - up) * height}; }
};

constexpr double letter = 6.6;  ///< about the width of a letter; texts are not measured

std::string shortened(const std::string& text, double room) {
    const int most = std::max(3, static_cast<int>(room / letter));
    return view::columns(text) <= most ? text : std::string(view::cut(text, most - 1)) + "…";
}

class Document {
   public:
    void text(double x, double y, std::string_view text, std::string_view anchor = "start",
              std::string_view classes = "soft") {
        body_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", number(x),
                             number(y), anchor, classes, escaped(text));
    }
    void line(double x1, double y1, double x2, double y2, std::string_view classes = "grid") {
        body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n", number(x1), number(y1),
                             number(x2), number(y2), classes);
    }
    void rectangle(const Box& box, std::string_view classes, std::string_view hint = {}) {
        body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\">", number(box.x),
                             number(box.y), number(box.width), number(box.height), classes);
        if (!hint.empty()) body_ += "<title>" + escaped(hint) + "</title>";
        body_ += "</rect>\n";
    }
    void path(const std::string& d, std::string_view classes, const Box* cut = nullptr) {
        if (d.empty()) return;
        body_ += fmt::format("<path d=\"{}\" class=\"{}\"{}/>\n", d, classes,
                             cut ? fmt::format(" clip-path=\"url(#cut{})\"", clip(*cut)) : "");
    }
    /// Returns the document with the title and the given size.
    [[nodiscard]] std::string finish(const std::string& title, double width, double height) const {
        return fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
            "role=\"img\">\n<title>{2}</title>\n{3}<defs>{4}</defs>\n<rect class=\"sheet\" width=\"{0}\" "
            "height=\"{1}\"/>\n{5}</svg>\n",
            number(width), number(height), escaped(title), style, clips_, body_);
    }

   private:
    int clip(const Box& box) {
        clips_ += fmt::format("<clipPath id=\"cut{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>",
                              ++number_of_clips_, number(box.x), number(box.y - 1), number(box.width),
                              number(box.height + 2));
        return number_of_clips_;
    }
    std::string body_, clips_;
    int number_of_clips_ = 0;
};

std::string path_of(const Box& box, const std::vector<Point>& points) {
    std::string d;
    bool drawn = false;
    for (const Point& point : points) {
        if (!std::isfinite(point.x) || !std::isfinite(point.y)) {
            drawn = false;
            continue;
        }
        // Far outside the picture a coordinate has no use, and may have any length.
        const Point at = box.at(point.x, std::clamp(point.y, -10.0, 10.0));
        d += (drawn ? "L" : "M") + number(at.x) + " " + number(at.y);
        drawn = true;
    }
    return d;
}

/// Returns a mark around a point. A dot is the round end of a stroke without length.
std::string mark_of(Shape shape, const Point& at, double size) {
    const std::string x = number(at.x), y = number(at.y), r = number(size);
    switch (shape) {
        case Shape::dot:
            return "M" + x + " " + y + "h0";
        case Shape::ring:
            return fmt::format("M{} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0", number(at.x - size), y,
                               fmt::arg("r", r), fmt::arg("d", number(2 * size)));
        case Shape::cross:
            return fmt::format("M{} {}l{d} {d}m0 -{d}l-{d} {d}", number(at.x - size), number(at.y - size),
                               fmt::arg("d", number(2 * size)));
        case Shape::star:
            return fmt::format("M{} {}l{r} {r}l-{r} {r}l-{r} -{r}z", x, number(at.y - 1.8 * size),
                               fmt::arg("r", number(1.8 * size)));
    }
    return {};
}

std::string_view classes_of(Shape shape) {
    static constexpr std::string_view names[] = {"mark round dot", "mark", "mark", "mark star"};
    return names[static_cast<std::size_t>(shape)];
}

constexpr int density_levels = 6;
constexpr double density_cell = 4;  ///< the height of a cell, which all boxes are a multiple of, and about its width

/// Draws a density as a path for each level, of strokes as high as a cell.
void draw_density(Document& document, const Box& box, const Density& density) {
    const double wide = box.width / density.columns();
    const std::vector<int> levels = density.levels(density_levels);
    std::string runs[density_levels + 1];
    for (int row = 0; row < density.rows(); ++row)
        for (int column = 0, end = 0; column < density.columns(); column = end) {
            const int* cells = &levels[static_cast<std::size_t>(row * density.columns())];
            while (end < density.columns() && cells[end] == cells[column]) ++end;
            if (cells[column] > 0)
                runs[cells[column]] += fmt::format("M{:.2f} {:.2f}h{:.2f}", box.x + column * wide,
                                                   box.y + (row + 0.5) * density_cell, (end - column) * wide);
        }
    for (int level = 1; level <= density_levels; ++level) document.path(runs[level], fmt::format("density d{}", level));
}

Density density_of(const Box& box) {
    return {static_cast<int>(box.width / density_cell), static_cast<int>(box.height / density_cell)};
}

/// Draws the paths of all trials but the best, as a density where they would cover each other. Returns the largest
/// number of paths in a cell; 0: no density is drawn.
std::int64_t draw_other_paths(Document& document, const Box& box, const Panel& panel) {
    constexpr std::size_t most_paths = 200;
    const bool many = paths_of_others(panel) > most_paths;
    Density density = density_of(box);
    for (const Path& path : panel.paths) {
        if (path.tone != Tone::faint) continue;
        const std::vector<Point> points = placed(panel, path.points);
        if (many)
            density.add(points);
        else
            document.path(path_of(box, points), name_of(path.tone), &box);
    }
    draw_density(document, box, density);
    return density.most();
}

/// Draws the marks of all trials but the best likewise.
std::int64_t draw_other_marks(Document& document, const Box& box, const Panel& panel) {
    Density density = density_of(box);
    const auto cells = static_cast<std::size_t>(density.columns() * density.rows());
    const std::size_t count = marks_of_others(panel);
    const bool small = count > cells / 64;
    for (const Marks& marks : panel.marks) {
        if (marks.tone == Tone::best) continue;
        std::string d;
        for (const Point& at : placed(panel, marks.points)) {
            if (count > cells / 16)
                density.add(at);
            else if (at.x >= 0 && at.x <= 1 && at.y >= 0 && at.y <= 1)
                d += mark_of(marks.shape, box.at(at.x, at.y), small ? 2 : 3);
        }
        document.path(d, fmt::format("{} {}{}", classes_of(marks.shape), name_of(marks.tone), small ? " small" : ""));
    }
    draw_density(document, box, density);
    return density.most();
}

/// Draws the lines and the marks of the best trials, which lie above all others.
void draw_best(Document& document, const Box& box, const Panel& panel) {
    for (const Path& path : panel.paths)
        if (path.tone != Tone::faint) document.path(path_of(box, placed(panel, path.points)), name_of(path.tone), &box);
    for (const Marks& marks : panel.marks) {
        if (marks.tone != Tone::best) continue;
        std::string d;
        for (const Point& at : placed(panel, marks.points))
            if (at.x >= 0 && at.x <= 1 && at.y >= 0 && at.y <= 1) d += mark_of(marks.shape, box.at(at.x, at.y), 3);
        document.path(d, fmt::format("{} {}", classes_of(marks.shape), name_of(marks.tone)));
    }
}

void draw_below(Document& document, const Box& box, const Scale& x) {
    const bool choice = x.unit == Scale::Unit::choice;
    const auto ticks =
        x.ticks(choice ? static_cast<int>(x.names.size()) : std::max(2, static_cast<int>(box.width / 90)));
    for (const double tick : ticks) {
        const Point at = box.at(x.at(tick), 0);
        if (!choice) document.line(at.x, box.y, at.x, at.y);
        document.text(at.x, at.y + 16,
                      shortened(x.text(tick), choice ? box.width / static_cast<double>(ticks.size()) : box.width),
                      "middle");
    }
    document.text(box.x + box.width / 2, box.y + box.height + 34, shortened(x.label, box.width), "middle", "");
}

/// Returns the largest number of trials in one place of a density; 0: none is drawn.
std::int64_t draw_chart(Document& document, const Box& place, const Panel& panel) {
    const auto ticks = panel.y.ticks(std::max(2, static_cast<int>(place.height / 50)));
    int widest = 0;
    for (const double tick : ticks) widest = std::max(widest, view::columns(panel.y.text(tick)));
    const double left = 10 + widest * letter;
    const Box box{place.x + left, place.y + 20, place.width - left - 12, place.height - 64};
    document.text(place.x, place.y + 10, shortened(panel.y.label, place.width), "start", "");
    for (const double tick : ticks) {
        const Point at = box.at(0, panel.y.at(tick));
        document.line(box.x, at.y, box.x + box.width, at.y);
        document.text(box.x - 6, at.y + 4, panel.y.text(tick), "end");
    }
    draw_below(document, box, panel.x);
    std::int64_t most = draw_other_paths(document, box, panel);
    if (most == 0) most = draw_other_marks(document, box, panel);  // the ends of curves would hide their density
    draw_best(document, box, panel);
    return most;
}

/// Returns the same as draw_chart().
std::int64_t draw_uprights(Document& document, const Box& place, const Panel& panel) {
    const auto axes = panel.uprights.size();
    const double room = place.width / static_cast<double>(axes);
    const Box box{place.x + room / 2, place.y + 24, place.width - room, place.height - 36};
    const std::int64_t most = draw_other_paths(document, box, panel);
    draw_best(document, box, panel);
    for (std::size_t i = 0; i < axes; ++i) {
        const Scale& axis = panel.uprights[i];
        const double x = box.x + static_cast<double>(i) * room;
        document.text(x, place.y + 10, shortened(axis.label, room), "middle", "");
        document.line(x, box.y, x, box.y + box.height, "spread");
        const auto ticks = axis.ticks(axis.unit == Scale::Unit::choice ? static_cast<int>(axis.names.size()) : 6);
        for (const double tick : ticks)
            document.text(x + 5, box.at(0, axis.at(tick)).y + 4, shortened(axis.text(tick), room - 10), "start",
                          "soft halo");
    }
    return most;
}

double draw_rows(Document& document, const Figure& figure, double width, double top) {
    constexpr double height = 24;
    int longest = 0, longest_text = 0;
    for (const Row& row : figure.rows) {
        longest = std::max(longest, view::columns(row.label));
        longest_text = std::max(longest_text, view::columns(row.text));
    }
    const double left = std::min(width / 3, 12 + longest * letter);
    const double right = 20 + longest_text * letter;
    const Box box{left + 20, top, width - left - 20 - right, height * static_cast<double>(figure.rows.size())};
    draw_below(document, box, figure.across);
    for (std::size_t i = 0; i < figure.rows.size(); ++i) {
        const Row& row = figure.rows[i];
        const double y = top + height * static_cast<double>(i);
        document.text(box.x - 8, y + 16, shortened(row.label, left), "end", "");
        for (const Row::Bar& bar : row.bars) {
            const double from = box.at(figure.across.at(bar.from), 0).x,
                         until = box.at(figure.across.at(bar.until), 0).x;
            const double wide = std::max(0.5, until - from - (row.bars.size() > 1 ? 1 : 0));
            document.rectangle({from, y + 4, wide, height - 8}, fmt::format("fill {}", name_of(bar.tone)),
                               bar.text.empty() ? "" : "trial " + bar.text);
            if (wide > letter * static_cast<double>(bar.text.size()) + 4 && !bar.text.empty())
                document.text(from + 3, y + 16, bar.text, "start", "inside");
            if (bar.shape == Shape::cross)  // makes a failure visible without colour
                document.path(fmt::format("M{} {}L{} {}", number(from), number(y + height - 4), number(from + wide),
                                          number(y + 4)),
                              "spread");
        }
        if (row.spread > 0 && !row.bars.empty()) {
            const double end = row.bars.back().until;
            document.line(box.at(std::max(0.0, figure.across.at(end - row.spread)), 0).x, y + 12,
                          box.at(std::min(1.0, figure.across.at(end + row.spread)), 0).x, y + 12, "spread");
        }
        document.text(box.x + box.width + 12, y + 16, row.text);
    }
    return box.y + box.height + 54;
}

/// `densest` is the largest number of trials in one place of a density; 0: there is none.
double draw_keys(Document& document, const Figure& figure, std::int64_t densest, double width, double top) {
    double x = 20, y = top;
    if (densest > 0) {
        for (int level = 1; level <= density_levels; ++level, x += 8)
            document.path(fmt::format("M{} {}h8", number(x), number(y - 4)), fmt::format("density key d{}", level));
        document.text(x + 6, y, density_text(densest));
        x += 22 + letter * static_cast<double>(density_text(densest).size());
    }
    for (const Key& key : densest > 0 ? keys_above_density(figure.keys) : figure.keys) {
        const double taken = 34 + letter * view::columns(key.text);
        if (x > 20 && x + taken > width) x = 20, y += 18;
        if (!figure.rows.empty())
            document.rectangle({x, y - 9, 12, 10}, fmt::format("fill {}", name_of(key.tone)));
        else if (key.line)
            document.path(fmt::format("M{} {}h14", number(x - 1), number(y - 4)), name_of(key.tone));
        else
            document.path(mark_of(key.shape, {x + 6, y - 4}, 3),
                          fmt::format("{} {}", classes_of(key.shape), name_of(key.tone)));
        document.text(x + 18, y, key.text);
        x += taken;
    }
    for (const std::string& note : figure.notes) document.text(20, y += 18, note);
    return y + 16;
}

}  // namespace

std::string draw_svg(const Figure& figure) {
    Document document;
    constexpr double margin = 20, gap = 16;
    double width = 860, y = 48;
    std::int64_t densest = 0;
    document.text(margin, 28, figure.title, "start", "title");
    if (!figure.rows.empty()) {
        y = draw_rows(document, figure, width - 2 * margin, y);
    } else {
        const std::size_t count = figure.panels.size();
        const bool uprights = !figure.panels.front().uprights.empty();
        if (uprights) width = std::max(width, 95.0 * static_cast<double>(figure.panels.front().uprights.size()));
        const std::size_t beside = std::min<std::size_t>(count, count == 2 || count == 4 ? 2 : 3);
        const double each = (width - 2 * margin - gap * static_cast<double>(beside - 1)) / static_cast<double>(beside);
        const double height = count == 1 ? 400 : 260;
        for (std::size_t i = 0; i < count; ++i) {
            const Box place{margin + static_cast<double>(i % beside) * (each + gap),
                            y + static_cast<double>(i / beside) * (height + gap), each, height};
            densest = std::max(densest, uprights ? draw_uprights(document, place, figure.panels[i])
                                                 : draw_chart(document, place, figure.panels[i]));
        }
        y += static_cast<double>((count + beside - 1) / beside) * (height + gap) + 10;
    }
    y = draw_keys(document, figure, densest, width, y);
    return document.finish(figure.title, width, y);
}

}  // namespace hpo::plot
