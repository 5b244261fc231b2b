// The cells of a picture in a terminal: characters at a place, and dots of braille between them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/plot/density.hpp"
#include "orchestrator/plot/figure.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::plot {

/// Returns the style of a tone in a terminal.
view::Style style_of(Tone tone);

/// Returns the character that stands for a mark.
std::string_view sign_of(Shape shape, bool utf8);

/// Returns the character that stands for 1 to Grid::shades, from few to many.
std::string_view shade_of(int level, bool utf8);

class Grid {
   public:
    static constexpr int shades = 4;

    Grid(int width, int height, const view::Screen& screen);

    /// Writes text from a cell on; the part outside the grid is left out. A wide character takes two cells.
    void write(int column, int row, std::string_view text, view::Style style = view::Style::plain);
    [[nodiscard]] const view::Screen& screen() const { return screen_; }

    /// A part of the grid in which shapes are drawn between (0, 0), its bottom left, and (1, 1).
    struct Area {
        int column = 0, row = 0, width = 1, height = 1;
    };
    /// Draws a path of at least two points, cut at the edges of the area. Tones are drawn over fainter ones.
    void draw(const Area& area, const std::vector<Point>& path, Tone tone);
    /// Draws marks as characters, or as dots if they are `many`.
    void draw(const Area& area, const std::vector<Point>& points, Shape shape, Tone tone, bool many);

    /// Fills the area with shades below the drawn marks. The density has the area's columns and rows.
    void shade(const Area& area, const Density& density);

    /// Returns the lines, each with a newline, without blanks at their ends.
    [[nodiscard]] std::string text() const;

   private:
    struct Cell {
        std::string text = {};  ///< empty: dots alone
        view::Style style = view::Style::plain;
        unsigned dots = 0;  ///< of braille
        Tone tone = Tone::faint;
        int shade = 0;         ///< shown where there is neither text nor a dot
        bool covered = false;  ///< by the wide character before it
    };
    [[nodiscard]] Cell& cell(int column, int row) { return cells_[static_cast<std::size_t>(row * width_ + column)]; }
    void dot(const Area& area, double x, double y, Tone tone);

    int width_, height_;
    view::Screen screen_;
    std::vector<Cell> cells_;
};

}  // namespace hpo::plot
