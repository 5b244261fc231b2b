#include "orchestrator/execution/child_program.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "hpo/printable.hpp"
#include "hpo/result.hpp"

namespace hpo {

namespace {

sigset_t taken_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, signal);
    return set;
}

}  // namespace

Foreground::Foreground() {
    const sigset_t taken = taken_signals();
    ::sigprocmask(SIG_BLOCK, &taken, &before_);
    signals_ = Descriptor(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) throw Fatal(std::string("no descriptor for signals: ") + std::strerror(errno));
}

Foreground::~Foreground() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

void Foreground::start(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setsigmask(&attributes, &before_);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int failed = ::posix_spawnp(&pid_, arguments.front(), nullptr, &attributes, arguments.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    if (failed != 0) {
        pid_ = 0;
        throw Fatal(printable(command.front()) + ": " + std::strerror(failed), failed == ENOENT ? 127 : 126);
    }
}

int Foreground::wait(Seconds time) {
    pollfd ready{signals_.get(), POLLIN, 0};
    const auto milliseconds = static_cast<int>(std::clamp(time.count() * 1000 + 0.5, 0.0, 3.6e6));
    if (::poll(&ready, 1, milliseconds) <= 0) return 0;
    int signal = 0;
    for (signalfd_siginfo info; ::read(signals_.get(), &info, sizeof info) == sizeof info;)
        if (info.ssi_signo != SIGCHLD) signal = static_cast<int>(info.ssi_signo);
    if (pid_ > 0 && !status_) {
        if (signal == SIGTERM || signal == SIGHUP) ::kill(pid_, signal);
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) == pid_)
            status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    return signal;
}

}  // namespace hpo
