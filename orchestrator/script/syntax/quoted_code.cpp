#include "orchestrator/script/syntax/quoted_code.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

namespace {

/// Returns true for lines such as "ValueError: bad", "KeyboardInterrupt" and "zlib.error: -3".
bool ends_a_traceback(string_view line) {
    const std::size_t end =
        std::find_if_not(line.begin(), line.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '.'; }) -
        line.begin();
    const string_view name = line.substr(0, end);
    if (name.empty() || !is_letter(name.front())) return false;
    if (end < line.size() && line[end] != ':') return false;
    const auto dot = name.rfind('.');
    return dot != string_view::npos || std::isupper(static_cast<unsigned char>(name.front())) != 0;
}

/// Returns true for lines such as "train.py:12: UserWarning: lr = 7 is large".
bool warns_about_code(string_view line) {
    const auto at = line.find("Warning: ");
    if (at == string_view::npos) return false;
    std::size_t name = at;
    while (name > 0 && is_letter(line[name - 1])) --name;
    if (name < 2 || line.substr(name - 2, 2) != ": ") return false;
    std::size_t number = name - 2;
    while (number > 0 && is_digit(line[number - 1])) --number;
    return number < name - 2 && number > 0 && line[number - 1] == ':';
}

}  // namespace

bool QuotedCode::takes(string_view line) {
    const bool below_warning = std::exchange(below_warning_, false);
    if (const auto at = line.find("Traceback (most recent call last):"); at != string_view::npos) {
        in_traceback_ = true;
        prefix_ = line.substr(0, at);
        return true;
    }
    if (in_traceback_) {
        if (line.starts_with(prefix_)) line.remove_prefix(prefix_.size());
        const bool indented = line.starts_with(' ') || line.starts_with('\t') || line.starts_with('|');
        const bool exception = !indented && ends_a_traceback(line);
        in_traceback_ = !exception;
        return indented || exception;  // other lines meanwhile come from another thread
    }
    if (below_warning && (line.starts_with(' ') || line.starts_with('\t'))) return true;
    return below_warning_ = warns_about_code(line);
}

}  // namespace hpo::script
