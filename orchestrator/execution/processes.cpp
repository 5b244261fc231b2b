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

/// All of a file of /proc, at most `limit` bytes; empty if it cannot be read.
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

/// From "pid (any name) state parent ...": the name may hold spaces and brackets, so the last bracket counts.
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

/// Numbers in the text, from the beginning.
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

/// As the kernel lists them, a thread of the parent at a time; nothing where it does not.
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

/// Of one process, and of those that it waited for; in clock ticks.
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

pid_t worker_process(pid_t said, pid_t peer, pid_t orchestrator) {
    if (peer <= 0) return said;
    for (pid_t pid = peer, parent; pid > 1; pid = parent) {
        parent = parent_of(pid);
        if (parent == orchestrator) break;  // its supervisor
        if (pid == said) return said;
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
            // A pid that changed hands while /proc was read could close a circle.
            if (std::find(tree.begin(), tree.end(), pid) == tree.end()) tree.push_back(pid);
    }
    return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

namespace {

bool has_tag(pid_t pid, const std::string& tag) {
    return pid != ::getpid() && environment_has_tag(read_file("/proc/" + std::to_string(pid) + "/environ", 4 << 20),
                                                    std::string(tag_variable) + "=" + tag);
}

/// What tells a process from a later one of its pid: when it started, in ticks since the system did; empty: it is gone.
std::string start_time(pid_t pid) {
    const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
    auto at = stat.rfind(')');
    for (int field = 2; at != std::string::npos && field < 22; ++field) at = stat.find(' ', at + 1);
    return at == std::string::npos ? std::string() : stat.substr(at, stat.find(' ', at + 1) - at);
}

/// SIGKILL if `wanted` holds of the process, and not of another that has taken its pid meanwhile. Where pidfds are
/// refused (seccomp, an old kernel) the time of its start says so.
template <class F>
bool kill_if(pid_t pid, F&& wanted) {
    // The pidfd first: if the pid changes hands before its environment is read, the signal goes to the dead one.
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
    const auto end = std::chrono::steady_clock::now() + deadline;
    // Twice clean, for a process that was between two programs had no environment to be read.
    for (int clean = 0; clean < 2;) {
        clean = kill_tagged(tag, supervisors) == 0 ? clean + 1 : 0;
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
