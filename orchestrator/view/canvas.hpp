// Lays out styled text in the columns of a terminal. The result is always a string, so that tests can compare a view
// with a user's screen.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::view {

/// Properties of the terminal that a view is drawn for.
struct Screen {
    int width = 80;  ///< columns; 0 if lines may have any length
    int height = 24;
    bool colour = false;
    bool utf8 = true;  ///< otherwise ASCII only; on a terminal (width > 0) names, too
};

enum class Style { plain, strong, dim, good, notice, bad, accent, chosen };

/// Returns the number of columns that UTF-8 text takes: one for each code point, two for wide ones, none for combining
/// marks.
int columns(std::string_view text);

/// Returns the longest prefix of `text` that takes at most `width` columns.
std::string_view cut(std::string_view text, int width);

/// Returns `text` in exactly `width` columns: padded with blanks on the right, or cut with an ellipsis. `text` must be
/// printable.
std::string pad_right(std::string_view text, int width, const Screen& screen);
/// Like pad_right(), but pads on the left.
std::string pad_left(std::string_view text, int width, const Screen& screen);

/// A line of styled pieces.
class Line {
   public:
    Line& add(std::string_view text, Style style = Style::plain);
    /// Adds blanks up to column `column`, unless the line is already longer.
    Line& to(int column);
    [[nodiscard]] int width() const { return width_; }
    /// Returns the line, cut to the screen's width, without a newline. With `chosen` the whole row is highlighted.
    [[nodiscard]] std::string render(const Screen& screen, bool chosen = false) const;

   private:
    struct Piece {
        std::size_t end;  ///< in the text
        Style style;
        int width;
    };
    std::string text_;  ///< of all pieces
    std::vector<Piece> pieces_;
    int width_ = 0;
};

/// The lines of a screen, at most as many as its height.
class Canvas {
   public:
    /// `above` is the number of lines that are scrolled out of sight, which are counted but not drawn.
    explicit Canvas(const Screen& screen, std::int64_t above = 0) : screen_(screen), above_(above) {}
    void add(const Line& line, bool chosen = false);
    void add(std::string_view text, Style style = Style::plain) { add(Line().add(text, style)); }
    void blank() { add(Line()); }
    [[nodiscard]] int rows_left() const { return screen_.height - rows_; }
    /// Returns how many of the next lines are above the screen.
    [[nodiscard]] std::int64_t above() const { return above_; }
    /// Skips `lines` lines above the screen, at most above(), as if they had been added.
    void skip(std::int64_t lines) { above_ -= lines; }
    /// Returns all lines, each with a newline.
    [[nodiscard]] const std::string& text() const { return text_; }

   private:
    Screen screen_;
    std::string text_;
    int rows_ = 0;
    std::int64_t above_ = 0;
};

/// Draws values as a curve of at most `width` columns, scaled between their minimum and maximum: ▁▂▃▄▅▆▇█, or _.-=^ in
/// ASCII. Values that are not finite are shown as '!'. If there are more values than columns, each column shows a mean.
std::string sparkline(std::span<const double> values, int width, bool utf8);

/// Adds a progress bar, such as ━━━━━─────, of which `fraction` (0 to 1) is full.
void add_bar(Line& line, double fraction, int width, const Screen& screen);

}  // namespace hpo::view
