#include "orchestrator/script/syntax/last_output.hpp"

#include <algorithm>
#include <vector>

namespace hpo::script {

namespace {

constexpr std::size_t most_lines = 12;       // of the exception's text
constexpr std::size_t most_frame_lines = 6;  // two for each frame, and carets below some
constexpr std::size_t most_kept_bytes = 500;
constexpr std::size_t most_last_line_bytes = 500;
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
    const bool found = std::find(lines.begin(), lines.end(), traceback) != lines.end();
    const auto words = found ? std::find_if_not(begin, lines.end(), indented) : lines.end();
    if (words == lines.end()) {
        const std::string_view last = lines.back();
        return std::string(last.substr(last.find_last_of('\r') + 1).substr(0, most_last_line_bytes));
    }

    std::string text;
    const auto add = [&](std::string_view line) {
        if (!text.empty()) text += '\n';
        text += line.substr(0, most_kept_bytes);
    };
    const auto count = static_cast<std::size_t>(lines.end() - words);
    for (std::size_t i = 0; i < count; ++i) {
        if (count > most_lines && i == most_lines - 2) add("...");
        if (count <= most_lines || i < most_lines - 2 || i + 1 == count) add(words[static_cast<std::ptrdiff_t>(i)]);
    }
    const auto frames = static_cast<std::size_t>(words - begin);
    auto frame = words - static_cast<std::ptrdiff_t>(std::min(frames, most_frame_lines));
    while (frame != words && !frame->starts_with("  File ")) ++frame;
    for (; frame != words; ++frame) add(*frame);
    return text.substr(0, 4000);
}

}  // namespace hpo::script
