#include "orchestrator/execution/own_threads.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace hpo {
namespace {

std::string first_line_of(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

/// The state in /proc/PID/stat follows the name, which is in parentheses and may hold some itself.
std::string state_in(const std::string& stat) {
    const auto end = stat.rfind(')');
    const char state = end == std::string::npos || end + 2 >= stat.size() ? '?' : stat[end + 2];
    switch (state) {
        case 'R':
            return "runs";
        case 'S':
            return "sleeps";
        case 'D':
            return "is stuck in the kernel";
        case 'T':
        case 't':
            return "is stopped";
        default:
            return std::string("is in state ") + state;
    }
}

}  // namespace

std::vector<std::string> own_threads() {
    std::vector<std::filesystem::path> threads;
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error))
        threads.push_back(thread.path());
    std::sort(threads.begin(), threads.end());
    std::vector<std::string> lines;
    for (const std::filesystem::path& thread : threads) {
        const std::string stat = first_line_of(thread / "stat"), where = first_line_of(thread / "wchan");
        if (stat.empty()) continue;  // the thread has ended meanwhile
        lines.push_back(first_line_of(thread / "comm") + " " + state_in(stat) +
                        (where.empty() || where == "0" ? "" : " (" + where + ")"));
    }
    return lines;
}

}  // namespace hpo
