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

/// A block of lines at the end of stdout, redrawn in place. For a terminal alone.
class LiveBlock {
   public:
    /// Replaces the block by `text` (lines with their newlines, no wider than the terminal). False: the terminal is
    /// gone.
    bool draw(const std::string& text);
    /// Prints lines that stay above the block.
    bool print_above(const std::string& lines);
    /// Takes the block away.
    bool clear();

   private:
    std::string block_;
    int rows_ = 0;
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
