#include "orchestrator/execution/processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

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

/// The file is "pid (any name) state parent ...". The name may contain spaces and brackets, so the last bracket counts.
pid_t parent_of(pid_t pid) {
    const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
    const auto name_end = stat.rfind(')');
    pid_t parent = 0;
    if (name_end != std::string::npos && stat.size() > name_end + 4)
        std::from_chars(stat.data() + name_end + 4, stat.data() + stat.size(), parent);
    return parent;
}

bool environment_has_tag(std::string_view environment, const std::string& entry) {
    while (!environment.empty()) {
        const auto end = std::min(environment.find('\0'), environment.size());
        const auto variable = environment.substr(0, end);
        if (variable.starts_with(entry) && (variable.size() == entry.size() || variable[entry.size()] == ':'))
            return true;
        environment.remove_prefix(std::min(end + 1, environment.size()));
    }
    return false;
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
    const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
    const auto name_end = stat.rfind(')');
    if (name_end == std::string::npos || stat.size() < name_end + 4) return 0;
    // "pid (name) state ppid ...": utime, stime, cutime and cstime are the 11th to the 14th number after the state.
    const auto numbers = numbers_of(std::string_view(stat).substr(name_end + 4));
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
    return pids;
}

std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> pids = all_processes();
    std::erase_if(pids, [&](pid_t pid) { return parent_of(pid) != parent; });
    return pids;
}

pid_t worker_process(pid_t reported, pid_t peer, pid_t orchestrator) {
    if (peer <= 0) return reported;
    for (pid_t pid = peer, parent; pid > 1; pid = parent) {
        parent = parent_of(pid);
        if (parent == orchestrator) break;  // its supervisor
        if (pid == reported) return reported;
    }
    return peer;
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

namespace {

bool has_tag(pid_t pid, const std::string& tag) {
    if (pid == ::getpid()) return false;
    const std::string environment = read_file("/proc/" + std::to_string(pid) + "/environ", 4 << 20);
    return environment_has_tag(environment, std::string(tag_variable) + "=" + tag) ||
           environment_has_tag(environment, std::string(old_tag_variable) + "=" + tag);
}

/// Start of a process in ticks since the system's start, which tells it from a later one with its pid; empty if it is
/// gone.
std::string start_time(pid_t pid) {
    const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
    auto at = stat.rfind(')');
    for (int field = 2; at != std::string::npos && field < 22; ++field) at = stat.find(' ', at + 1);
    return at == std::string::npos ? std::string() : stat.substr(at, stat.find(' ', at + 1) - at);
}

/// Sends SIGKILL to the process if `wanted` returns true, and never to a later process with the same pid. Where pidfds
/// are refused (seccomp, an old kernel), the start times are compared.
template <class F>
bool kill_if(pid_t pid, F&& wanted) {
    // The pidfd is opened first: if the pid is reused before the environment is read, the signal reaches the dead one.
    const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    const bool refused = !handle && errno != ESRCH;
    const std::string started = refused ? start_time(pid) : "";
    if ((!handle && started.empty()) || !wanted()) return false;
    if (handle && ::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0) == 0) return true;
    if (handle && errno == ESRCH) return true;
    if (!refused || start_time(pid) == started) (void)::kill(pid, SIGKILL);
    return true;
}

}  // namespace

std::vector<pid_t> tagged(const std::string& tag) {
    std::vector<pid_t> pids = all_processes();
    std::erase_if(pids, [&](pid_t pid) { return !has_tag(pid, tag); });
    return pids;
}

std::size_t kill_tagged(const std::string& tag, Supervisors supervisors) {
    std::size_t found = 0;
    for (const pid_t pid : all_processes())
        found += kill_if(pid, [&] {
            return has_tag(pid, tag) &&
                   !(supervisors == Supervisors::spared &&
                     read_file("/proc/" + std::to_string(pid) + "/comm", 64) == supervisor_name + std::string("\n"));
        });
    return found;
}

bool sweep(const std::string& tag, std::chrono::milliseconds deadline, Supervisors supervisors) {
    return until_none_is_left([&] { return kill_tagged(tag, supervisors); }, deadline);
}

bool until_none_is_left(const std::function<std::size_t()>& kill, std::chrono::milliseconds deadline) {
    const auto end = std::chrono::steady_clock::now() + deadline;
    // Two rounds must find nothing: during exec a process has no environment that could be read.
    for (int clean = 0; clean < 2;) {
        clean = kill() == 0 ? clean + 1 : 0;
        if (clean == 2) break;
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
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
