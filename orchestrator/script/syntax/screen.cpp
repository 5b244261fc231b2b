#include "orchestrator/script/syntax/screen.hpp"

#include <algorithm>
#include <charconv>

namespace hpo::script {

namespace {

constexpr char escape = '\x1b', bell = '\a';
constexpr std::size_t max_sequence_bytes = 32;
constexpr std::int64_t max_rows = 1000;

}  // namespace

void Screen::feed(std::string_view bytes, const Line& line) {
    constexpr std::string_view special("\n\r\b\x1b", 4);
    while (!bytes.empty()) {
        if (state_ == State::text && !returned_) {
            const auto end = std::min(bytes.find_first_of(special), bytes.size());
            append(bytes.substr(0, end));
            bytes.remove_prefix(end);
            if (bytes.empty()) return;
        }
        take(bytes.front(), line);
        bytes.remove_prefix(1);
    }
}

void Screen::finish(const Line& line) {
    returned_ = false;
    state_ = State::text;
    end(false, line);
}

void Screen::take(char c, const Line& line) {
    switch (state_) {
        case State::text:
            if (returned_ && (c == '\r' || c == '\0')) return;  // in UTF-16, a zero stands between return and newline
            if (returned_ && c != '\n') end(true, line);        // "\r\n" is the end of a line, and no return
            returned_ = c == '\r';
            if (c == '\n') {
                end(below_ > 0, line);
                below_ = std::max<std::int64_t>(0, below_ - 1);
            } else if (c == '\b') {
                end(true, line);
            } else if (c == escape) {
                state_ = State::escape;
            } else if (c != '\r') {
                append({&c, 1});
            }
            return;
        case State::escape:
            state_ = c == '[' ? State::sequence : c == ']' ? State::title : State::text;
            sequence_.clear();
            return;
        case State::sequence:
            if (c >= '@' && c <= '~') {
                state_ = State::text;
                control(c, line);
            } else if (c < ' ' || sequence_.size() >= max_sequence_bytes) {
                state_ = State::text;  // not a sequence after all
                take(c, line);
            } else {
                sequence_ += c;
            }
            return;
        case State::title:
        case State::title_escape:
            if (c == '\n' || c == bell || (state_ == State::title_escape && c == '\\')) {
                state_ = State::text;
                if (c == '\n') take(c, line);
            } else {
                state_ = c == escape ? State::title_escape : State::title;
            }
            return;
    }
}

/// Follows an escape sequence that moves the cursor or erases the line. All others are colours and the like.
void Screen::control(char final, const Line& line) {
    std::int64_t count = 0;
    std::from_chars(sequence_.data(), sequence_.data() + sequence_.size(), count);
    const bool up = final == 'A' || final == 'F';
    const bool erases = (final == 'K' || final == 'J') && count > 0;
    if (final == 'C') append(std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 1, 80)), ' '));
    if (up || erases || final == 'G' || final == 'H') end(true, line);
    if (up) below_ = std::min(max_rows, below_ + std::clamp<std::int64_t>(count, 1, max_rows));
    if (final == 'B') below_ = std::max<std::int64_t>(0, below_ - std::clamp<std::int64_t>(count, 1, max_rows));
}

void Screen::end(bool redrawn, const Line& line) {
    if (skipping_) {
        ++dropped_;
    } else if (!redrawn || text_.find_first_not_of(" \t") != std::string::npos) {
        const std::string text = std::move(text_);
        text_.clear();
        line(text, redrawn);
    }
    skipping_ = false;
    text_.clear();
}

void Screen::append(std::string_view text) {
    if (skipping_) return;
    if (text_.size() + text.size() > limit_) {
        skipping_ = true;
        text_.clear();
    } else {
        text_ += text;
    }
}

}  // namespace hpo::script
