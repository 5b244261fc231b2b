#include "orchestrator/execution/processes.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <thread>

#include "hpo/descriptor.hpp"
#include "orchestrator/execution/process_table.hpp"
#include "orchestrator/execution/supervisor.hpp"
#include "orchestrator/execution/system.hpp"

namespace hpo {
namespace {

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

/// Returns true for a supervisor, and for a process that it has forked and that has not executed its command yet. Where
/// an emulator runs hpo, its name and its options come first.
bool is_supervisor(pid_t pid) {
    constexpr int most = 5;
    const std::string line = command_line_of(pid);
    std::string_view rest = line;
    for (int i = 0; i < most && !rest.empty(); ++i) {
        const auto end = std::min(rest.find('\0'), rest.size());
        if (rest.substr(0, end) == supervisor_command) return true;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
}

/// Sends SIGKILL to the process if `wanted` returns true, and never to a later process with the same pid. Where the
/// system has no handles of processes or refuses them (seccomp, an old kernel), the start times are compared.
bool kill_if(pid_t pid, const std::function<bool(pid_t)>& wanted) {
    // The process is held first: if the pid is reused before the environment is read, the signal reaches the dead one.
    const Descriptor handle = system::open_process(pid);
    const bool held = handle && system::signal_process(handle, 0);  // a filter may refuse signals by handles alone
    if (!held && errno == ESRCH) return false;
    const std::string started = held ? "" : start_of(pid);
    if (!held && started.empty()) return false;
    // The process may end any time, and its group lives on. So soon no other group can have that number.
    const pid_t group = ::getpgid(pid);
    if (!wanted(pid)) return false;
    // A supervisor may be in the group of the process that has started it. All others that are wanted run below one, in
    // groups that were made there.
    if (group > 1 && group != ::getpgrp() && !is_supervisor(pid)) (void)::kill(-group, SIGKILL);
    if (held) {
        (void)system::signal_process(handle, SIGKILL);
    } else if (start_of(pid) == started) {
        (void)::kill(pid, SIGKILL);
    }
    return true;
}

}  // namespace

bool has_tag(pid_t pid, const std::string& tag) {
    if (pid == ::getpid()) return false;
    const std::string environment = environment_of(pid);
    return environment_has_tag(environment, std::string(tag_variable) + "=" + tag) ||
           environment_has_tag(environment, std::string(old_tag_variable) + "=" + tag);
}

bool in_session(pid_t pid, pid_t session) { return pid != ::getpid() && ::getsid(pid) == session && !has_ended(pid); }

std::vector<pid_t> tagged(const std::string& tag) {
    std::vector<pid_t> pids = all_processes();
    std::erase_if(pids, [&](pid_t pid) { return !has_tag(pid, tag); });
    return pids;
}

std::vector<pid_t> kill_each(const std::function<bool(pid_t)>& wanted) {
    std::vector<pid_t> pids = all_processes();
    std::erase_if(pids, [&](pid_t pid) { return !kill_if(pid, wanted); });
    return pids;
}

std::size_t kill_tagged(const std::string& tag, Supervisors supervisors) {
    const auto wanted = [&](pid_t pid) {
        return has_tag(pid, tag) && !(supervisors == Supervisors::spared && is_supervisor(pid));
    };
    return kill_each(wanted).size();
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

}  // namespace hpo
