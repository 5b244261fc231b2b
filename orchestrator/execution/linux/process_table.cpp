#include "orchestrator/execution/process_table.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "hpo/descriptor.hpp"

namespace hpo {
namespace {

/// Reads a file of /proc, at most `limit` bytes; empty if it cannot be read.
std::string read_file(const std::string& path, std::size_t limit) {
    std::string text;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return text;
    char buffer[16384];
    ssize_t size;
    while (text.size() < limit && (size = ::read(file.get(), buffer, sizeof buffer)) > 0)
        text.append(buffer, static_cast<std::size_t>(size));
    return text;
}

std::string file_of(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

/// Returns "state parent ..." of the file "pid (any name) state parent ..."; empty if it cannot be read. The name may
/// contain spaces and brackets, so the last bracket counts.
std::string state_of(pid_t pid) {
    const std::string stat = read_file(file_of(pid, "stat"), 4096);
    const auto name_end = stat.rfind(')');
    return name_end == std::string::npos || stat.size() < name_end + 4 ? std::string() : stat.substr(name_end + 2);
}

/// Returns the numbers at the beginning of the text.
std::vector<long long> numbers_of(std::string_view text) {
    std::vector<long long> numbers;
    while (!text.empty()) {
        long long number = 0;
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (status != std::errc()) break;
        numbers.push_back(number);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        while (text.starts_with(' ')) text.remove_prefix(1);
    }
    return numbers;
}

/// Returns the children that the kernel lists for each thread of the parent; nothing if it does not list children.
std::optional<std::vector<pid_t>> listed_children(pid_t parent) {
    static const bool lists = ::access("/proc/thread-self/children", R_OK) == 0;
    if (!lists) return std::nullopt;
    const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(tasks.c_str()), ::closedir);
    std::vector<pid_t> pids;
    if (!folder) return pids;
    while (const dirent* entry = ::readdir(folder.get())) {
        if (entry->d_name[0] == '.') continue;
        const std::string file = tasks + "/" + entry->d_name + "/children";
        for (const long long pid : numbers_of(read_file(file, 1 << 20))) pids.push_back(static_cast<pid_t>(pid));
    }
    return pids;
}

/// Processor time of a process and of the children that it has waited for, in clock ticks.
long long processor_ticks(pid_t pid) {
    const std::string state = state_of(pid);
    // utime, stime, cutime and cstime are the 11th to the 14th number after the state.
    const auto numbers = numbers_of(std::string_view(state).substr(std::min<std::size_t>(state.size(), 2)));
    return numbers.size() < 14 ? 0 : numbers[10] + numbers[11] + numbers[12] + numbers[13];
}

}  // namespace

std::vector<pid_t> all_processes() {
    std::vector<pid_t> pids;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
    if (!folder) return pids;
    while (const dirent* entry = ::readdir(folder.get())) {
        const std::string_view name = entry->d_name;
        pid_t pid = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), pid).ec == std::errc() && pid > 0)
            pids.push_back(pid);
    }
    std::sort(pids.begin(), pids.end(), std::greater<>());
    return pids;
}

pid_t parent_of(pid_t pid) {
    const std::string state = state_of(pid);
    pid_t parent = 0;
    if (!state.empty()) std::from_chars(state.data() + 2, state.data() + state.size(), parent);
    return parent;
}

std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> pids = all_processes();
    std::erase_if(pids, [&](pid_t pid) { return parent_of(pid) != parent; });
    return pids;
}

bool has_ended(pid_t pid) {
    const std::string state = state_of(pid);
    return state.empty() || state[0] == 'Z';
}

std::string environment_of(pid_t pid) { return read_file(file_of(pid, "environ"), 4 << 20); }

std::string command_line_of(pid_t pid) { return read_file(file_of(pid, "cmdline"), 4 << 20); }

std::string start_of(pid_t pid) {
    constexpr std::size_t number =
        22 - 4;  // among the numbers behind the state; the pid is the first field of the file
    const std::string state = state_of(pid);
    const auto numbers = numbers_of(std::string_view(state).substr(std::min<std::size_t>(state.size(), 2)));
    return numbers.size() <= number ? std::string() : std::to_string(numbers[number]);
}

double processor_seconds_below(pid_t root) {
    std::vector<pid_t> tree{root};
    long long ticks = 0;
    for (std::size_t next = 0; next < tree.size(); ++next) {
        if (next > 0) ticks += processor_ticks(tree[next]);
        const auto listed = listed_children(tree[next]);
        for (const pid_t pid : listed ? *listed : children_of(tree[next]))
            // A pid that was reused while /proc was read could make a cycle.
            if (std::find(tree.begin(), tree.end(), pid) == tree.end()) tree.push_back(pid);
    }
    return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

long long out_of_memory_kills() {
    long long kills = 0;
    if (std::FILE* file = std::fopen("/proc/vmstat", "re")) {
        char line[256];
        while (std::fgets(line, sizeof line, file) != nullptr)
            if (std::sscanf(line, "oom_kill %lld", &kills) == 1) break;
        std::fclose(file);
    }
    return kills;
}

}  // namespace hpo
