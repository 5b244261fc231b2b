#include "orchestrator/execution/child_program.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "hpo/printable.hpp"
#include "hpo/result.hpp"

namespace hpo {

Foreground::Foreground() {
    if (!signals_) throw Fatal(std::string("no descriptor for signals: ") + std::strerror(errno));
}

void Foreground::start(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setsigmask(&attributes, &signals_.mask_before());
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int failed = ::posix_spawnp(&pid_, arguments.front(), nullptr, &attributes, arguments.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    if (failed != 0) {
        pid_ = 0;
        throw Fatal(printable(command.front()) + ": " + std::strerror(failed), failed == ENOENT ? 127 : 126);
    }
}

int Foreground::wait(Seconds time) {
    pollfd ready{signals_.descriptor(), POLLIN, 0};
    const auto milliseconds = static_cast<int>(std::clamp(time.count() * 1000 + 0.5, 0.0, 3.6e6));
    if (::poll(&ready, 1, milliseconds) == 0) return 0;
    int signal = 0;
    for (const int one : signals_.take())
        if (one != SIGCHLD) signal = one;
    if (pid_ > 0 && !status_) {
        if (signal == SIGTERM || signal == SIGHUP) ::kill(pid_, signal);
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) == pid_)
            status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    return signal;
}

}  // namespace hpo
