#include "worker/ranks/rank_processes.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "hpo/shortage.hpp"
#include "os/process.hpp"

namespace hpo {

std::string to_text(const RankEnd& end) {
    const std::string rank = "rank " + std::to_string(end.rank) + " of the trial";
    if (!end.words.empty()) return rank + ": " + end.words;
    if (WIFSIGNALED(end.status)) return rank + " was killed by signal " + std::to_string(WTERMSIG(end.status));
    return rank + " ended with status " + std::to_string(WEXITSTATUS(end.status));
}

void end_like(const RankEnd& end) {
    if (WIFSIGNALED(end.status)) {
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        ::signal(WTERMSIG(end.status), SIG_DFL);
        ::raise(WTERMSIG(end.status));
    }
    const int status = WIFEXITED(end.status) ? WEXITSTATUS(end.status) : 0;
    std::_Exit(status != 0 ? status : 1);
}

Result<bool> RankProcesses::start() {
    if (all_run()) return false;
    stop();
    auto shared = make_host_ranks(size_);
    if (!shared) return shared.error();
    for (int rank = 1; rank < size_; ++rank)
        if (auto started = start_rank(rank, *shared); !started) {
            stop();
            return started.error();
        }
    try {
        communicator_ = std::make_unique<HostCommunicator>(0, size_, shared->memory, std::move(shared->lead));
    } catch (const std::bad_alloc&) {
        stop();
        throw;
    }
    return true;
}

/// Between fork and exec the child calls nothing that could wait for a thread of this process.
Result<void> RankProcesses::start_rank(int rank, HostRanks& shared) {
    Descriptor socket = std::move(shared.follow[static_cast<std::size_t>(rank) - 1]);
    const std::string identity = std::to_string(rank) + ":" + std::to_string(size_) + ":" +
                                 std::to_string(shared.memory.get()) + ":" + std::to_string(socket.get());
    std::vector<std::string> command{"hpo-worker", follow_option, identity};
    command.insert(command.end(), arguments_.begin(), arguments_.end());
    std::vector<char*> argv;
    for (std::string& argument : command) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const std::string program = os::own_program();
    const pid_t parent = ::getpid();
    ShortageWait shortage;
    pid_t pid = -1;
    do pid = ::fork();
    while (pid < 0 && shortage.try_again_after(errno));
    if (pid < 0) return Error{std::string("cannot start a process of the trial: ") + std::strerror(errno)};
    if (pid == 0) {
        os::die_with_parent();
        if (::getppid() != parent) ::_exit(1);
        cores_.bind({});
        ::fcntl(shared.memory.get(), F_SETFD, 0);
        ::fcntl(socket.get(), F_SETFD, 0);
        ::execv(program.c_str(), argv.data());
        ::_exit(127);
    }
    pids_.push_back(pid);
    return {};
}

bool RankProcesses::all_run() {
    if (!communicator_) return false;
    for (pid_t& pid : pids_)
        if (pid == 0 || ::waitpid(pid, nullptr, WNOHANG) != 0) return pid = 0, false;
    return true;
}

void RankProcesses::stop() {
    for (const pid_t pid : pids_)
        if (pid > 0) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_)
        while (pid > 0 && ::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
    pids_.clear();
    communicator_.reset();
}

RankEnd RankProcesses::end_of(const RankLost& lost) {
    RankEnd end{lost.rank};
    pid_t& pid = pids_[static_cast<std::size_t>(lost.rank) - 1];
    while (::waitpid(pid, &end.status, 0) < 0 && errno == EINTR) continue;
    pid = 0;
    end.words = communicator_->words_of(lost.rank);
    stop();
    return end;
}

std::unique_ptr<HostCommunicator> follow_host_ranks(std::string_view identity) {
    int rank = 0, size = 0, memory = -1, socket = -1;
    if (std::sscanf(std::string(identity).c_str(), "%d:%d:%d:%d", &rank, &size, &memory, &socket) != 4 || rank < 1 ||
        rank >= size || memory < 0 || socket < 0)
        return nullptr;
    const Descriptor shared(memory);
    for (const int fd : {memory, socket}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    std::vector<Descriptor> sockets;
    sockets.emplace_back(socket);
    try {
        return std::make_unique<HostCommunicator>(rank, size, shared, std::move(sockets));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

}  // namespace hpo
