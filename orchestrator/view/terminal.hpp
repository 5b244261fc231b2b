// The terminal itself: its size, whether it takes colours, its keys, and leaving it as it was found. The only file that
// knows escape codes for the screen as a whole.
#pragma once

#include <optional>
#include <string>

#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// Whether `fd` is a terminal that understands escape codes (TERM is set and not "dumb").
bool is_terminal(int fd);

/// What stdout is: the terminal's size, colours on a terminal without NO_COLOR, UTF-8 by the locale. Width 0: not a
/// terminal, lines are as long as they like.
Screen screen_of_stdout();

/// What a block of lines at the end of a terminal's output sends to be drawn anew, in place. Pure: the codes alone.
///
/// Rows are erased one by one, never by "erase below": some terminals (tmux) keep a screen that is erased from its
/// first row on in the scrollback. A terminal that has become narrower breaks lines that were drawn wider, so the rows
/// that the block takes follow from the width of now; xterm and the console of Linux cut them instead.
class BlockCodes {
   public:
    explicit BlockCodes(bool breaks_lines = true) : breaks_lines_(breaks_lines) {}
    /// Prints `above` (it stays), and below it `block`, in the place of the block before; both lines with newlines. At
    /// most screen.height - 1 rows of `block` are drawn, cut to the screen's width. Empty: nothing has changed.
    std::string draw(const std::string& above, const std::string& block, const Screen& screen);

   private:
    bool breaks_lines_;
    std::string block_;
    Screen drawn_on_;
};

/// The block on stdout, which is a terminal.
class LiveBlock {
   public:
    LiveBlock();
    /// Replaces the block by `text`. False: the terminal is gone.
    bool draw(const std::string& text);
    /// Prints lines that stay above the block.
    bool print_above(const std::string& lines);
    /// Takes the block away.
    bool clear();

   private:
    BlockCodes codes_;
    std::string block_;
};

enum class KeyCode { none, character, up, down, page_up, page_down, home, end, enter, escape, closed };
struct Key {
    KeyCode code = KeyCode::none;  ///< none: nothing was pressed in time, or the window changed its size
    char character = 0;
};

/// Takes the first key off the bytes that a terminal sent.
Key take_key(std::string& bytes);

/// The whole screen, for as long as it lives: alternate screen, no cursor, keys one by one. Restores everything at
/// destruction and when a signal ends the process (INT, TERM, HUP, QUIT). One at a time.
class FullScreen {
   public:
    FullScreen();
    ~FullScreen();
    FullScreen(const FullScreen&) = delete;
    FullScreen& operator=(const FullScreen&) = delete;

    /// Shows the lines of `text` from the top left. False: the terminal is gone.
    bool show(const std::string& text);
    Key read_key(double seconds);

   private:
    std::string pending_;  ///< bytes read and not yet understood as keys
};

}  // namespace hpo::view
