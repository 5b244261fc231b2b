#include "orchestrator/execution/child_program.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "hpo/descriptor.hpp"
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
    // Forked, not spawned: the program ignores the signals that this process was started to ignore, and only a child
    // can restore these actions while this process goes on to receive the signals.
    Descriptor read_end, write_end;
    int failed = 0;
    if (!make_pipe(read_end, write_end) || (pid_ = ::fork()) < 0) failed = errno;
    if (failed == 0 && pid_ == 0) {
        signals_.restore();
        ::execvp(arguments.front(), arguments.data());
        failed = errno;
        (void)!::write(write_end.get(), &failed, sizeof failed);
        ::_exit(127);
    }
    write_end.reset();
    if (failed == 0 && ::read(read_end.get(), &failed, sizeof failed) > 0) (void)::waitpid(pid_, nullptr, 0);
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
