#include "orchestrator/execution/child.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "orchestrator/execution/own_command.hpp"
#include "orchestrator/execution/system.hpp"
#include "os/environment.hpp"
#include "os/process.hpp"

namespace hpo::supervisor {
namespace {

/// Some containers allow a million descriptors, and programs that close them one by one then take seconds to start.
constexpr rlim_t most_descriptors = 65536;
SoftLimits of_children{most_descriptors, RLIM_INFINITY};

enum Stage { redirect, enter, execute };

struct Failure {
    int stage;
    int error;
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> list;
    for (auto& text : strings) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
}

void reset_signals() {
    os::reset_signal_actions();
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Does the same as system::close_at_exec_from() where the system has no call for it.
void close_at_exec_one_by_one(int first) {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/dev/fd"), ::closedir);
    if (!folder) return;
    while (const dirent* entry = ::readdir(folder.get()))
        if (const int descriptor = std::atoi(entry->d_name); descriptor >= first)
            (void)::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

/// Runs in the child, and returns only if a step has failed.
Failure become(const Start& start, char** argv, char** envp, pid_t supervisor, int input, int output, int error,
               int extra) {
    const bool dies_with_parent = system::die_with_parent();
    if (::getppid() != supervisor) ::_exit(127);  // the supervisor died before that call
    ::setpgid(0, 0);
    if (!start.cpus.empty()) os::bind_to_cores(start.cpus);  // the worker also runs where a core is no longer available
    apply(of_children);
    if (input < 0) input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input < 0 || ::dup2(input, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(error, 2) < 0) return {redirect, errno};
    // The pipe that reports a failure cannot be 3: it was opened after others above 2.
    if (extra >= 0 && extra != 3 && ::dup2(extra, 3) < 0) return {redirect, errno};
    if (extra == 3) (void)::fcntl(extra, F_SETFD, 0);
    // All further descriptors close at exec, also the pipe that reports a failure.
    const int first = extra >= 0 ? 4 : 3;
    if (!system::close_at_exec_from(first)) close_at_exec_one_by_one(first);
    if (!start.folder.empty() && ::chdir(start.folder.c_str()) != 0) return {enter, errno};
    reset_signals();
    environ = envp;
    if (dies_with_parent) run_if_own(argv, first);
    ::execvp(argv[0], argv);
    return {execute, errno};
}

Child failure(int error, std::string what, bool own) {
    Child child;
    child.error = error;
    child.failed = std::move(what);
    child.own = own;
    return child;
}

}  // namespace

void limit_children(const SoftLimits& limits) {
    of_children = limits;
    of_children.descriptors = std::min(of_children.descriptors, most_descriptors);
}

std::vector<std::string> merged_environment(const std::vector<std::string>& added) {
    const auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
    std::vector<std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        bool replaced = false;
        for (const auto& other : added) replaced |= name_of(other) == name_of(*entry);
        if (!replaced) all.emplace_back(*entry);
    }
    all.insert(all.end(), added.begin(), added.end());
    return all;
}

Child start_child(const Start& start, int input, int output, int error, int extra) {
    const std::string run = "start " + (start.command.empty() ? std::string("an empty command") : start.command[0]);
    if (start.command.empty()) return failure(EINVAL, run, false);
    std::vector<std::string> command = start.command;
    std::vector<std::string> environment = merged_environment(start.environment);
    const std::vector<char*> argv = pointers(command);
    const std::vector<char*> envp = pointers(environment);

    Descriptor output_read, output_write, failure_read, failure_write;
    if (!make_pipe(output_read, output_write) || !make_pipe(failure_read, failure_write))
        return failure(errno, run, true);
    const pid_t supervisor = ::getpid();
    // Until the child has reset the actions of all signals, one that it gets would be taken for the parent's.
    sigset_t all, before;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before);
    const pid_t pid = ::fork();
    const int fork_error = errno;
    if (pid != 0) ::sigprocmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0) return failure(fork_error, run, true);
    if (pid == 0) {
        const Failure failed =
            become(start, const_cast<char**>(argv.data()), const_cast<char**>(envp.data()), supervisor, input,
                   output < 0 ? output_write.get() : output, error < 0 ? output_write.get() : error, extra);
        (void)!::write(failure_write.get(), &failed, sizeof failed);
        ::_exit(127);
    }
    failure_write.reset();
    output_write.reset();
    Failure failed{};
    ssize_t size;
    do size = ::read(failure_read.get(), &failed, sizeof failed);
    while (size < 0 && errno == EINTR);
    if (size == sizeof failed) {
        while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
        }
        return failure(failed.error, failed.stage == enter ? "enter " + start.folder : run, failed.stage == redirect);
    }
    ::fcntl(output_read.get(), F_SETFL, O_NONBLOCK);
    Child child;
    child.pid = pid;
    child.output = std::move(output_read);
    return child;
}

}  // namespace hpo::supervisor
