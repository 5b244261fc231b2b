#include "orchestrator/script/syntax/last_output.hpp"

#include <algorithm>
#include <vector>

namespace hpo::script {

namespace {

constexpr std::size_t max_message_lines = 12;
constexpr std::size_t max_frame_lines = 6;  // two for each frame, and carets below some
constexpr std::size_t max_line_bytes_kept = 500;
constexpr std::string_view traceback = "Traceback (most recent call last):";

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
        lines.push_back(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
}

}  // namespace

std::string last_output(std::string_view output) {
    const std::vector<std::string_view> lines = lines_of(output);
    if (lines.empty()) return {};
    const auto begin = std::find(lines.rbegin(), lines.rend(), traceback).base();
    const auto indented = [](std::string_view line) { return line.starts_with("  "); };
    const bool has_traceback = std::find(lines.begin(), lines.end(), traceback) != lines.end();
    const auto message = has_traceback ? std::find_if_not(begin, lines.end(), indented) : lines.end();
    if (message == lines.end()) {
        const std::string_view last = lines.back();
        return std::string(last.substr(last.find_last_of('\r') + 1).substr(0, max_line_bytes_kept));
    }

    std::string text;
    const auto add = [&](std::string_view line) {
        if (!text.empty()) text += '\n';
        text += line.substr(0, max_line_bytes_kept);
    };
    const auto count = static_cast<std::size_t>(lines.end() - message);
    for (std::size_t i = 0; i < count; ++i) {
        if (count > max_message_lines && i == max_message_lines - 2) add("...");
        if (count <= max_message_lines || i < max_message_lines - 2 || i + 1 == count)
            add(message[static_cast<std::ptrdiff_t>(i)]);
    }
    const auto frame_lines = static_cast<std::size_t>(message - begin);
    auto frame = message - static_cast<std::ptrdiff_t>(std::min(frame_lines, max_frame_lines));
    while (frame != message && !frame->starts_with("  File ")) ++frame;
    for (; frame != message; ++frame) add(*frame);
    return text.substr(0, 4000);
}

}  // namespace hpo::script
