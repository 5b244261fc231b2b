#include "orchestrator/execution/process_table.hpp"

#include <libproc.h>
#include <mach/mach_time.h>
#include <sys/proc.h>
#include <sys/resource.h>
#include <sys/sysctl.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>

#include "orchestrator/execution/process_arguments.hpp"

namespace hpo {
namespace {

/// Returns the entries of the table of processes that `what` and `which` of sysctl(3) name, zombies included.
std::vector<kinfo_proc> entries(int what, int which) {
    int name[] = {CTL_KERN, KERN_PROC, what, which};
    for (int tries = 0; tries < 10; ++tries) {  // the table may grow between the two calls
        std::size_t size = 0;
        if (::sysctl(name, std::size(name), nullptr, &size, nullptr, 0) != 0) return {};
        std::vector<kinfo_proc> found(size / sizeof(kinfo_proc) + 16);
        size = found.size() * sizeof(kinfo_proc);
        if (::sysctl(name, std::size(name), found.data(), &size, nullptr, 0) == 0) {
            found.resize(size / sizeof(kinfo_proc));
            return found;
        }
        if (errno != ENOMEM) return {};
    }
    return {};
}

std::optional<kinfo_proc> entry_of(pid_t pid) {
    const auto found = entries(KERN_PROC_PID, pid);
    if (found.empty() || found.front().kp_proc.p_pid != pid) return std::nullopt;
    return found.front();
}

ProcessArguments arguments_of(pid_t pid) {
    int name[] = {CTL_KERN, KERN_PROCARGS2, pid};
    int most = 0;
    int limit[] = {CTL_KERN, KERN_ARGMAX};
    std::size_t size = sizeof most;
    if (::sysctl(limit, std::size(limit), &most, &size, nullptr, 0) != 0 || most <= 0) return {};
    std::string answer(static_cast<std::size_t>(most), '\0');
    size = answer.size();
    if (::sysctl(name, std::size(name), answer.data(), &size, nullptr, 0) != 0) return {};
    return process_arguments(std::string_view(answer).substr(0, size));
}

/// Processor time of a process and of the children that it has waited for, in seconds.
double processor_seconds(pid_t pid) {
    rusage_info_v2 usage{};
    if (::proc_pid_rusage(pid, RUSAGE_INFO_V2, reinterpret_cast<rusage_info_t*>(&usage)) != 0) return 0;
    mach_timebase_info_data_t base{};
    if (::mach_timebase_info(&base) != KERN_SUCCESS || base.denom == 0) return 0;
    const auto ticks =
        usage.ri_user_time + usage.ri_system_time + usage.ri_child_user_time + usage.ri_child_system_time;
    return static_cast<double>(ticks) * base.numer / base.denom * 1e-9;
}

}  // namespace

std::vector<pid_t> all_processes() {
    std::vector<pid_t> pids;
    for (const kinfo_proc& entry : entries(KERN_PROC_ALL, 0))
        if (entry.kp_proc.p_pid > 0) pids.push_back(entry.kp_proc.p_pid);
    std::sort(pids.begin(), pids.end(), std::greater<>());
    return pids;
}

pid_t parent_of(pid_t pid) {
    const auto entry = entry_of(pid);
    return entry ? entry->kp_eproc.e_ppid : 0;
}

std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> pids;
    for (const kinfo_proc& entry : entries(KERN_PROC_ALL, 0))
        if (entry.kp_eproc.e_ppid == parent && entry.kp_proc.p_pid > 0) pids.push_back(entry.kp_proc.p_pid);
    std::sort(pids.begin(), pids.end(), std::greater<>());
    return pids;
}

bool has_ended(pid_t pid) {
    const auto entry = entry_of(pid);
    return !entry || entry->kp_proc.p_stat == SZOMB;
}

std::string environment_of(pid_t pid) { return arguments_of(pid).environment; }

std::string command_line_of(pid_t pid) { return arguments_of(pid).command; }

std::string start_of(pid_t pid) {
    const auto entry = entry_of(pid);
    if (!entry) return {};
    const timeval& start = entry->kp_proc.p_starttime;
    return std::to_string(start.tv_sec * 1'000'000LL + start.tv_usec);
}

double processor_seconds_below(pid_t root) {
    const auto all = entries(KERN_PROC_ALL, 0);
    std::vector<pid_t> tree{root};
    double seconds = 0;
    for (std::size_t next = 0; next < tree.size(); ++next) {
        if (next > 0) seconds += processor_seconds(tree[next]);
        for (const kinfo_proc& entry : all)
            if (const pid_t pid = entry.kp_proc.p_pid;
                entry.kp_eproc.e_ppid == tree[next] && std::find(tree.begin(), tree.end(), pid) == tree.end())
                tree.push_back(pid);
    }
    return seconds;
}

long long out_of_memory_kills() { return 0; }

}  // namespace hpo
