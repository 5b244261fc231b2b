#include "orchestrator/execution/descendants.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "orchestrator/execution/process_table.hpp"
#include "orchestrator/execution/processes.hpp"
#include "orchestrator/execution/system.hpp"

namespace hpo::supervisor {
namespace {

/// Only this process can reap its children, so no other process can have their pids. Whole groups are killed, so that
/// no process can escape by forking.
std::vector<pid_t> kill_children(const std::function<bool(pid_t)>& keeps) {
    std::vector<pid_t> children = children_of(::getpid());
    std::erase_if(children, keeps);
    for (const pid_t pid : children) {
        const pid_t group = ::getpgid(pid);
        if (group > 0 && group != ::getpgrp()) ::kill(-group, SIGKILL);
        ::kill(pid, SIGKILL);
    }
    return children;
}

}  // namespace

bool has_sub_reapers() {
    const pid_t tries = ::fork();
    if (tries == 0) ::_exit(system::adopt_orphans() ? 0 : 1);
    int status = 1;
    while (tries > 0 && ::waitpid(tries, &status, 0) < 0 && errno == EINTR) {
    }
    return tries > 0 && status == 0;
}

Descendants::Descendants()
    : adopts_(system::adopt_orphans()),
      tag_(std::getenv(tag_variable) == nullptr ? "" : std::getenv(tag_variable)),
      session_(::getsid(0) == ::getpid() ? ::getpid() : 0) {}

std::vector<pid_t> Descendants::kill(const std::function<bool(pid_t)>& keeps) const {
    if (adopts_) return kill_children(keeps);
    return kill_each([&](pid_t pid) {
        return ((session_ != 0 && in_session(pid, session_)) || (!tag_.empty() && has_tag(pid, tag_))) && !keeps(pid);
    });
}

}  // namespace hpo::supervisor
