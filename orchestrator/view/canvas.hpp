// Text with styles, laid out in columns of a terminal. Everything here ends as a string: what a view draws can be read
// in a test as it would be seen.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::view {

/// What a view draws on.
struct Screen {
    int width = 80;  ///< 0: lines are as long as they like
    int height = 24;
    bool colour = false;
    bool utf8 = true;  ///< else ASCII alone
};

enum class Style { plain, strong, dim, good, notice, bad, accent, chosen };

/// Columns that UTF-8 text takes, one a code point (combining marks none).
int columns(std::string_view text);

/// The longest start of `text` that takes at most `width` columns.
std::string_view cut(std::string_view text, int width);

/// `text` in exactly `width` columns: padded with blanks, or cut with an ellipsis. Not printable characters must be
/// gone already.
std::string pad_right(std::string_view text, int width, const Screen& screen);
std::string pad_left(std::string_view text, int width, const Screen& screen);

/// A line of styled pieces.
class Line {
   public:
    Line& add(std::string_view text, Style style = Style::plain);
    /// Blanks up to column `column`; none when the line is longer already.
    Line& to(int column);
    [[nodiscard]] int width() const { return width_; }
    /// Cut to the screen's width, without a newline. `chosen` paints the whole line, to the screen's edge.
    [[nodiscard]] std::string render(const Screen& screen, bool chosen = false) const;

   private:
    struct Piece {
        std::string text;
        Style style;
    };
    std::vector<Piece> pieces_;
    int width_ = 0;
};

/// Lines of a screen, at most its height.
class Canvas {
   public:
    /// The first `above` lines are left out: they are scrolled away.
    explicit Canvas(const Screen& screen, std::int64_t above = 0) : screen_(screen), above_(above) {}
    void add(const Line& line, bool chosen = false);
    void add(std::string_view text, Style style = Style::plain) { add(Line().add(text, style)); }
    void blank() { add(Line()); }
    [[nodiscard]] int rows_left() const { return screen_.height - rows_; }
    /// Lines to come that are left out.
    [[nodiscard]] std::int64_t above() const { return above_; }
    /// Leaves out so many of them at once, at most above().
    void pass(std::int64_t lines) { above_ -= lines; }
    /// Each line with its newline.
    [[nodiscard]] const std::string& text() const { return text_; }

   private:
    Screen screen_;
    std::string text_;
    int rows_ = 0;
    std::int64_t above_ = 0;
};

/// A curve of `width` columns from the last values, scaled between their least and greatest: ▁▂▃▄▅▆▇█, or _.-=^ in
/// ASCII. Values that are not finite show as '!'. More values than columns: the mean of each stretch.
std::string sparkline(std::span<const double> values, int width, bool utf8);

/// Adds ━━━━━───── with `fraction` of it full.
void add_bar(Line& line, double fraction, int width, const Screen& screen);

}  // namespace hpo::view
