#include "orchestrator/script/running_command.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace hpo::script {

void RunningCommand::begin(StartedCommand started) {
    pid_ = started.pid;
    output_.open(std::move(started.output), std::move(started.terminal));
    records_ = std::move(started.records);
}

bool RunningCommand::take_records(std::size_t max_bytes) {
    constexpr std::size_t records_bytes = 64 * 1024;
    char buffer[records_bytes];
    std::size_t taken = 0;
    while (records_ && taken < max_bytes) {
        const ssize_t size = ::read(records_.get(), buffer, sizeof buffer);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) break;
        if (size <= 0) {
            records_.reset();
            break;
        }
        taken += static_cast<std::size_t>(size);
        output_.add_to_log(ranks_.feed({buffer, static_cast<std::size_t>(size)}));
    }
    return taken > 0;
}

void RunningCommand::signal(int number) const {
    if (pid_ != 0 && !ended_) ::kill(-pid_, number);
}

void RunningCommand::terminate(std::chrono::milliseconds grace) {
    signal(SIGTERM);
    if (!kill_at_) kill_at_ = std::chrono::steady_clock::now() + grace;
}

void RunningCommand::kill_if_due(Time now) const {
    if (kill_at_ && now >= *kill_at_) signal(SIGKILL);
}

bool RunningCommand::reap() {
    bool its_end = false;
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid != pid_ || ended_) continue;
        its_end = ended_ = true;
        status_ = status;
        kill_at_.reset();
    }
    return its_end;
}

}  // namespace hpo::script
