// The live block, drawn on a simulated terminal with rows, a cursor, a scrollback, and lines that are wrapped again
// when the width changes.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "orchestrator/view/terminal.hpp"

namespace hpo::view {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A simulated terminal for ASCII text. Its scrollback keeps the rows that scroll off the top. As in tmux, it also
/// keeps the rows that are erased when the whole screen is.
class Terminal {
   public:
    Terminal(int width, int height) : width_(width), height_(height), rows_(1) {}

    void write(const std::string& bytes) {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            if (bytes[i] == '\r') {
                column_ = 0;
            } else if (bytes[i] == '\n') {
                down();
            } else if (bytes[i] == '\x1b') {
                const auto end = bytes.find_first_of("ABJKhlm", i);
                control_sequence(bytes.substr(i + 2, end - i - 2), bytes[end]);
                i = end;
            } else {
                if (column_ == width_) rows_[row()].wrapped = true, down(), column_ = 0;
                std::string& text = rows_[row()].text;
                text.resize(std::max(text.size(), static_cast<std::size_t>(column_) + 1), ' ');
                text[static_cast<std::size_t>(column_++)] = bytes[i];
            }
        }
    }

    /// Joins the rows of each wrapped line and wraps all lines at the new width. The cursor stays on its line.
    void resize(int width, int height) {
        std::vector<Row> lines;
        std::size_t line_of_cursor = 0;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            if (i == 0 || !rows_[i - 1].wrapped)
                lines.push_back({rows_[i].text, false});
            else
                lines.back().text += rows_[i].text;
            if (i == row()) line_of_cursor = lines.size() - 1;
        }
        rows_.clear();
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (i == line_of_cursor) cursor_ = rows_.size();
            std::string rest = lines[i].text;
            for (; rest.size() > static_cast<std::size_t>(width); rest.erase(0, static_cast<std::size_t>(width)))
                rows_.push_back({rest.substr(0, static_cast<std::size_t>(width)), true});
            rows_.push_back({rest, false});
        }
        width_ = width;
        height_ = height;
        while (cursor_ >= static_cast<std::size_t>(height_)) scroll();
    }

    [[nodiscard]] std::vector<std::string> shown() const {
        std::vector<std::string> lines;
        for (const Row& row : rows_) lines.push_back(row.text);
        while (!lines.empty() && lines.back().empty()) lines.pop_back();
        return lines;
    }
    std::vector<std::string> scrollback;

   private:
    struct Row {
        std::string text;
        bool wrapped = false;  ///< the line continues in the next row
    };
    [[nodiscard]] std::size_t row() const { return cursor_; }
    void scroll() {
        scrollback.push_back(rows_.front().text);
        rows_.erase(rows_.begin());
        --cursor_;
    }
    void down() {
        if (++cursor_ == rows_.size()) rows_.emplace_back();
        if (cursor_ == static_cast<std::size_t>(height_)) scroll();
    }
    void control_sequence(const std::string& arguments, char letter) {
        const auto count = static_cast<std::size_t>(std::max(1, std::atoi(arguments.c_str())));
        if (letter == 'A') cursor_ -= std::min(cursor_, count);
        if (letter == 'B') {
            cursor_ = std::min(cursor_ + count, static_cast<std::size_t>(height_) - 1);
            while (rows_.size() <= cursor_) rows_.emplace_back();
        }
        if (letter == 'K') rows_[row()] = {};
        if (letter == 'J') {
            if (cursor_ == 0 && column_ == 0)
                for (const Row& row : rows_) scrollback.push_back(row.text);
            rows_.resize(cursor_ + 1);
            rows_[row()] = {};
        }
    }

    int width_, height_;
    std::vector<Row> rows_;
    std::size_t cursor_ = 0;
    int column_ = 0;
};

std::string block_of(int lines, int width, char letter) {
    std::string text;
    for (int i = 0; i < lines; ++i) text += std::string(static_cast<std::size_t>(width), letter) + "\n";
    return text;
}

TEST(Block, RedrawingAsTallAsTheScreenLeavesNothingInTheScrollback) {
    Terminal terminal(80, 7);
    BlockCodes block;
    for (int i = 0; i < 20; ++i)
        terminal.write(block.draw("", block_of(6, 80, static_cast<char>('a' + i)), {80, 7, false, true}));
    EXPECT_THAT(terminal.scrollback, IsEmpty());
    EXPECT_EQ(terminal.shown(), std::vector<std::string>(6, std::string(80, 't')));
}

TEST(Block, ATallerBlockThanTheScreenIsCut) {
    Terminal terminal(20, 5);
    BlockCodes block;
    for (char letter : {'a', 'b'}) terminal.write(block.draw("", block_of(9, 10, letter), {20, 5, false, true}));
    EXPECT_THAT(terminal.scrollback, IsEmpty());
    EXPECT_EQ(terminal.shown(), std::vector<std::string>(4, std::string(10, 'b')));
}

TEST(Block, LinesAboveStayAndTheBlockFollowsThem) {
    Terminal terminal(20, 5);
    BlockCodes block;
    const Screen screen{20, 5, false, true};
    terminal.write(block.draw("", "one\ntwo\n", screen));
    terminal.write(block.draw("first\n", "one\ntwo\n", screen));
    terminal.write(block.draw("a line of more than twenty letters\n", "three\n", screen));
    EXPECT_THAT(terminal.shown(), ElementsAre("first", "a line of more than ", "twenty letters", "three"));
    terminal.write(block.draw("second\n", "three\n", screen));
    EXPECT_THAT(terminal.scrollback, ElementsAre("first"));
    terminal.write(block.draw("", "", screen));
    EXPECT_THAT(terminal.shown(), ElementsAre("a line of more than ", "twenty letters", "second"));
}

TEST(Block, ResizingTheTerminalLeavesNoRemains) {
    Terminal terminal(80, 24);
    BlockCodes block;
    terminal.write(block.draw("before\n", block_of(6, 79, 'a'), {80, 24, false, true}));
    terminal.resize(30, 24);
    terminal.write(
        block.draw("", block_of(6, 79, 'a'), {30, 24, false, true}));  // too wide: drawn before the new size is known
    EXPECT_THAT(terminal.shown(), ElementsAre("before"));
    terminal.write(block.draw("", block_of(6, 30, 'b'), {30, 24, false, true}));
    terminal.resize(100, 24);
    terminal.write(block.draw("", block_of(2, 99, 'c'), {100, 24, false, true}));
    EXPECT_THAT(terminal.shown(), ElementsAre("before", std::string(99, 'c'), std::string(99, 'c')));
    EXPECT_THAT(terminal.scrollback, IsEmpty());
}

TEST(Block, OnATerminalThatTruncatesLinesNothingAboveIsLost) {
    Terminal terminal(20, 10);
    BlockCodes block(false);
    terminal.write(block.draw("before\n", block_of(2, 19, 'a'), {20, 10, false, true}));
    // The terminal truncates its rows instead of wrapping them, so two rows stay two.
    terminal.write(block.draw("", block_of(2, 10, 'b'), {10, 10, false, true}));
    EXPECT_THAT(terminal.shown(), ElementsAre("before", std::string(10, 'b'), std::string(10, 'b')));
}

TEST(Block, AnUnchangedBlockIsNotSentAgain) {
    BlockCodes block;
    const Screen screen{20, 5, true, true};
    EXPECT_NE(block.draw("", "\x1b[1mone\x1b[0m\n", screen), "");
    EXPECT_EQ(block.draw("", "\x1b[1mone\x1b[0m\n", screen), "");
}

}  // namespace
}  // namespace hpo::view
