// Controls the terminal: its size, colours and keys, and its state at the end. No other file uses escape codes that
// affect the whole screen.
#pragma once

#include <optional>
#include <string>

#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// Returns true if `fd` is a terminal that understands escape codes (TERM is set and not "dumb").
bool is_terminal(int fd);

/// Returns the properties of stdout: the terminal's size, colours unless NO_COLOR is set, UTF-8 by the locale. The
/// width is 0 if stdout is not a terminal.
Screen screen_of_stdout();

/// Computes the escape codes that redraw a block of lines at the end of a terminal's output in place. Pure.
///
/// Rows are erased one by one. "Erase below" would make some terminals (tmux) copy the screen into the scrollback if it
/// starts at the first row. A terminal that has become narrower wraps the lines that were drawn wider, so the number of
/// rows that the block takes depends on the current width. xterm and the Linux console cut such lines instead.
class BlockCodes {
   public:
    /// `breaks_lines` is false for a terminal that cuts lines when it becomes narrower.
    explicit BlockCodes(bool breaks_lines = true) : breaks_lines_(breaks_lines) {}
    /// Returns the codes that print the permanent lines `above`, and below them `block` in place of the previous block.
    /// Lines of both end with newlines. At most screen.height - 1 rows of `block` are drawn, cut to the screen's width.
    /// Returns an empty text if nothing has changed.
    std::string draw(const std::string& above, const std::string& block, const Screen& screen);

   private:
    bool breaks_lines_;
    std::string block_;
    Screen drawn_on_;
};

/// Draws the block on stdout, which must be a terminal.
class LiveBlock {
   public:
    LiveBlock();
    /// Replaces the block by `text`. Returns false if the terminal is gone, like the functions below.
    bool draw(const std::string& text);
    /// Prints permanent lines above the block.
    bool print_above(const std::string& lines);
    /// Removes the block.
    bool clear();

   private:
    BlockCodes codes_;
    std::string block_;
};

enum class KeyCode { none, character, up, down, page_up, page_down, home, end, enter, escape, tab, mouse, closed };
struct Key {
    KeyCode code = KeyCode::none;  ///< none if no key came in time, or the window was resized
    char character = 0;
    enum class Mouse { none, press, wheel_up, wheel_down } mouse = Mouse::none;
    int column = 0, row = 0;  ///< of the mouse, from 0
};

/// Removes the first key from the bytes that a terminal has sent, and returns it.
Key take_key(std::string& bytes);

/// Takes over the whole screen during its lifetime: alternate screen, no cursor, unbuffered keys, reports of the mouse.
/// The destructor restores the terminal, and so do the signals that end the process (INT, TERM, HUP, QUIT). Only one
/// object may exist at a time.
class FullScreen {
   public:
    FullScreen();
    ~FullScreen();
    FullScreen(const FullScreen&) = delete;
    FullScreen& operator=(const FullScreen&) = delete;

    /// Shows the lines of `text` from the top left. Returns false if the terminal is gone.
    bool show(const std::string& text);
    /// Waits at most `seconds` for a key.
    Key read_key(double seconds);

   private:
    std::string pending_;  ///< bytes that have been read but not returned as keys
};

}  // namespace hpo::view
