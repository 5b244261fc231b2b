// Splits a stream into the lines that a terminal would show, and tells which lines are drawn again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace hpo::script {

/// Colours and other escape codes are removed. A state of a line that is drawn again (by a carriage return, backspaces,
/// or by moving the cursor up) is a line of its own. Lines beyond the limit are dropped and counted.
class Screen {
   public:
    /// `limit` is the maximum length of a line in bytes.
    explicit Screen(std::size_t limit) : limit_(limit) {}

    /// `redrawn` is true if the line may be drawn again. The view is valid until the function returns.
    using Line = std::function<void(std::string_view text, bool redrawn)>;
    /// The lines do not depend on how the stream is split into pieces. Blank states of a redrawn line are left out.
    void feed(std::string_view bytes, const Line& line);
    /// Ends the last line if it has no newline.
    void finish(const Line& line);

    /// Returns the number of lines that have been dropped for their length.
    [[nodiscard]] std::int64_t dropped() const { return dropped_; }

   private:
    enum class State : std::uint8_t { text, escape, sequence, title, title_escape };

    void take(char c, const Line& line);
    void control(char final, const Line& line);
    void end(bool redrawn, const Line& line);
    void append(std::string_view text);

    std::size_t limit_;
    std::string text_;
    std::string sequence_;  ///< parameters of an escape sequence
    State state_ = State::text;
    bool returned_ = false;  ///< true after a carriage return
    bool skipping_ = false;
    std::int64_t below_ = 0;  ///< number of lines below the cursor
    std::int64_t dropped_ = 0;
};

}  // namespace hpo::script
