#include "orchestrator/view/terminal.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "orchestrator/view/output.hpp"

namespace hpo::view {
namespace {

bool write_all(std::string_view text) { return write_to(STDOUT_FILENO, text); }

bool utf8_locale() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
        if (const char* value = std::getenv(name); value && *value) {
            std::string text(value);
            std::transform(text.begin(), text.end(), text.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
            return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
        }
    return false;
}

/// Returns the number of columns that a line takes on the screen, without its colour codes.
int visible_columns(std::string_view line) {
    int count = 0;
    while (!line.empty()) {
        const auto code = std::min(line.find('\x1b'), line.size());
        count += columns(line.substr(0, code));
        line.remove_prefix(code);
        if (!line.empty()) line.remove_prefix(std::min(line.find('m'), line.size() - 1) + 1);
    }
    return count;
}

/// Returns true if the terminal wraps lines again when its width changes.
bool breaks_lines() {
    const char* term = std::getenv("TERM");
    return !std::getenv("XTERM_VERSION") && !(term && std::strcmp(term, "linux") == 0);
}

// These codes enclose a synchronized update, so that the terminal never shows half a picture. Terminals without that
// feature ignore them.
constexpr std::string_view begin_update = "\x1b[?2026h", end_update = "\x1b[?2026l";
constexpr std::string_view enter_screen = "\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?1006h",
                           leave_screen = "\x1b[?1006l\x1b[?1000l\x1b[?25h\x1b[?1049l";
constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

termios original;
std::array<struct sigaction, ending_signals.size()> previous;
struct sigaction previous_winch;

void restore_terminal() {
    (void)!::write(STDOUT_FILENO, leave_screen.data(), leave_screen.size());
    ::tcsetattr(STDIN_FILENO, TCSANOW, &original);
}

/// Restores the terminal and ends the process. SA_RESETHAND has reset the handler, so that raising the signal again has
/// its default effect.
void on_ending_signal(int signal) {
    restore_terminal();
    ::raise(signal);
}

}  // namespace

bool is_terminal(int fd) {
    const char* term = std::getenv("TERM");
    return ::isatty(fd) == 1 && term && *term && std::strcmp(term, "dumb") != 0;
}

Screen screen_of_stdout() {
    Screen screen{0, 0, false, utf8_locale()};
    if (::isatty(STDOUT_FILENO) != 1) return screen;
    winsize size{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    screen.width = known && size.ws_col > 0 ? size.ws_col : 80;
    screen.height = known && size.ws_row > 0 ? size.ws_row : 24;
    const char* no_colour = std::getenv("NO_COLOR");
    screen.colour = is_terminal(STDOUT_FILENO) && !(no_colour && *no_colour);
    return screen;
}

std::string BlockCodes::draw(const std::string& above, const std::string& block, const Screen& screen) {
    const bool resized = screen.width != drawn_on_.width || screen.height != drawn_on_.height;
    if (above.empty() && block == block_ && !resized) return {};
    const auto each_line = [](std::string_view text, auto&& visit) {
        for (std::size_t from = 0; from < text.size();) {
            const auto end = std::min(text.find('\n', from), text.size());
            visit(text.substr(from, end - from));
            from = end + 1;
        }
    };
    int rows = 0;
    each_line(block_, [&](std::string_view line) {
        const int width = visible_columns(line);
        rows += breaks_lines_ && screen.width > 0 ? std::max(1, (width + screen.width - 1) / screen.width) : 1;
    });
    rows = std::min(rows, std::max(0, screen.height - 1));
    std::string out(begin_update);
    out += '\r';
    if (rows > 0) out += "\x1b[" + std::to_string(rows) + "A";
    for (int row = 0; row <= rows; ++row) out += row < rows ? "\x1b[2K\x1b[B" : "\x1b[2K";
    if (rows > 0) out += "\x1b[" + std::to_string(rows) + "A";
    each_line(above, [&](std::string_view line) { out.append(line).append("\r\n"); });
    block_.clear();
    int drawn = 0;
    each_line(block, [&](std::string_view line) {
        // A line that was drawn for a wider screen is left out until it has been drawn for this width.
        if (++drawn >= screen.height || visible_columns(line) > screen.width) return;
        out.append(line).append("\r\n");
        block_.append(line) += '\n';
    });
    out += end_update;
    if (block_ != block)
        drawn_on_ = {};
    else
        drawn_on_ = screen;
    return out;
}

LiveBlock::LiveBlock() : codes_(breaks_lines()) {}

bool LiveBlock::draw(const std::string& text) {
    block_ = text;
    return write_all(codes_.draw("", block_, screen_of_stdout()));
}

bool LiveBlock::print_above(const std::string& lines) {
    return lines.empty() || write_all(codes_.draw(lines, block_, screen_of_stdout()));
}

bool LiveBlock::clear() { return draw(""); }

FullScreen::FullScreen() {
    ::tcgetattr(STDIN_FILENO, &original);
    termios raw = original;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // Ctrl-Z would return to a shell on a terminal in raw mode
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    struct sigaction action {};
    action.sa_handler = on_ending_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (std::size_t i = 0; i < ending_signals.size(); ++i) ::sigaction(ending_signals[i], &action, &previous[i]);
    struct sigaction winch {};
    winch.sa_handler = [](int) {};  // interrupts the wait for a key
    ::sigaction(SIGWINCH, &winch, &previous_winch);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    write_all(enter_screen);
}

FullScreen::~FullScreen() {
    restore_terminal();
    for (std::size_t i = 0; i < ending_signals.size(); ++i) ::sigaction(ending_signals[i], &previous[i], nullptr);
    ::sigaction(SIGWINCH, &previous_winch, nullptr);
}

bool FullScreen::show(const std::string& text) {
    std::string out(begin_update);
    out += "\x1b[H";
    // Each row is erased before it is written. Erasing after a line as wide as the screen would remove its last letter.
    const int height = screen_of_stdout().height;
    std::size_t from = 0;
    for (int row = 0; row < height; ++row) {
        if (row > 0) out += "\r\n";
        out += "\x1b[2K";
        if (from >= text.size()) continue;
        const auto end = std::min(text.find('\n', from), text.size());
        out.append(text, from, end - from);
        from = end + 1;
    }
    out += end_update;
    return write_all(out);
}

Key FullScreen::read_key(double seconds) {
    if (pending_.empty()) {
        pollfd ready{STDIN_FILENO, POLLIN, 0};
        if (::poll(&ready, 1, static_cast<int>(seconds * 1000)) <= 0) return {};
        char bytes[4096];
        const auto size = ::read(STDIN_FILENO, bytes, sizeof bytes);
        if (size <= 0) return {size == 0 || errno == EIO ? KeyCode::closed : KeyCode::none};
        pending_.assign(bytes, static_cast<std::size_t>(size));
    }
    return take_key(pending_);
}

namespace {

/// Reads the report of a mouse, such as ESC [ < 0 ; 12 ; 5 M: the button, the column and the row from 1, and M if it
/// was pressed or m if it was released. Returns nothing if `bytes` begins with something else.
std::optional<Key> take_mouse(std::string& bytes) {
    if (!bytes.starts_with("\x1b[<")) return std::nullopt;
    int numbers[3] = {};
    const char *at = bytes.data() + 3, *const end = bytes.data() + bytes.size();
    for (int i = 0; i < 3; ++i) {
        const auto [after, status] = std::from_chars(at, end, numbers[i]);
        if (status != std::errc() || after == end) return std::nullopt;
        at = after + (i < 2 ? 1 : 0);
    }
    const bool pressed = *at == 'M';
    bytes.erase(0, static_cast<std::size_t>(at + 1 - bytes.data()));
    Key key{KeyCode::mouse};
    key.column = numbers[1] - 1, key.row = numbers[2] - 1;
    if (pressed)
        key.mouse = numbers[0] == 0    ? Key::Mouse::press
                    : numbers[0] == 64 ? Key::Mouse::wheel_up
                    : numbers[0] == 65 ? Key::Mouse::wheel_down
                                       : Key::Mouse::none;
    return key.mouse == Key::Mouse::none ? Key{} : key;
}

}  // namespace

Key take_key(std::string& bytes) {
    static constexpr std::array<std::pair<std::string_view, KeyCode>, 15> known{{
        {"\x1b[A", KeyCode::up},
        {"\x1bOA", KeyCode::up},
        {"\x1b[B", KeyCode::down},
        {"\x1bOB", KeyCode::down},
        {"\x1b[5~", KeyCode::page_up},
        {"\x1b[6~", KeyCode::page_down},
        {"\x1b[H", KeyCode::home},
        {"\x1bOH", KeyCode::home},
        {"\x1b[1~", KeyCode::home},
        {"\x1b[F", KeyCode::end},
        {"\x1bOF", KeyCode::end},
        {"\x1b[4~", KeyCode::end},
        {"\r", KeyCode::enter},
        {"\n", KeyCode::enter},
        {"\t", KeyCode::tab},
    }};
    if (bytes.empty()) return {};
    if (const auto mouse = take_mouse(bytes)) return *mouse;
    for (const auto& [sequence, code] : known)
        if (bytes.starts_with(sequence)) return bytes.erase(0, sequence.size()), Key{code};
    const char first = bytes[0];
    if (first != '\x1b') return bytes.erase(0, 1), Key{KeyCode::character, first};
    if (bytes.size() == 1) return bytes.clear(), Key{KeyCode::escape};
    // Skips an unknown sequence, which ends with a letter or '~'.
    std::size_t end = bytes[1] == '[' || bytes[1] == 'O' ? 2 : 1;
    while (end < bytes.size() && (bytes[end] < '@' || bytes[end] > '~')) ++end;
    bytes.erase(0, end + 1);
    return {};
}

}  // namespace hpo::view
