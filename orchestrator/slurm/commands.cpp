#include "orchestrator/slurm/commands.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "hpo/descriptor.hpp"
#include "hpo/printable.hpp"
#include "hpo/result.hpp"
#include "orchestrator/study/fields.hpp"

namespace hpo::slurm {

namespace {

constexpr std::size_t most_output = 4 << 20;  // bytes: a queue of 20,000 jobs
constexpr int look_every = 50;                // ms: how soon a child's end, the limit and give_up() are noticed

/// Returns true for variables with which users change the output of Slurm's commands, or the kind of job.
bool is_dropped(std::string_view variable) {
    for (const std::string_view prefix : {"SQUEUE_", "SINFO_", "SLURM_TIME_FORMAT=", "SBATCH_ARRAY_INX=",
                                          "SBATCH_WAIT=", "SBATCH_NO_REQUEUE=", "SBATCH_OPEN_MODE="})
        if (variable.starts_with(prefix)) return true;
    return false;
}

/// Reads the available bytes, at most a few MiB at a time. Returns false at the end of the file.
bool read_waiting(const Descriptor& from, std::string& into) {
    std::array<char, 65536> buffer;
    for (std::size_t seen = 0; seen < most_output;) {
        const auto size = ::read(from.get(), buffer.data(), buffer.size());
        if (size < 0) return errno == EAGAIN || errno == EINTR;
        if (size == 0) return false;
        seen += static_cast<std::size_t>(size);
        const std::size_t space = most_output - std::min(most_output, into.size());
        into.append(buffer.data(), std::min(space, static_cast<std::size_t>(size)));
    }
    return true;
}

struct Started {
    pid_t pid = 0;
    int error = 0;
};

Started start(const std::vector<std::string>& command, const Descriptor& out, const Descriptor& error) {
    std::vector<char*> arguments, environment;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    for (char** variable = environ; *variable; ++variable)
        if (!is_dropped(*variable)) environment.push_back(*variable);
    environment.push_back(nullptr);
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaddset(&usual, number);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &usual);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, error.get(), STDERR_FILENO);
    Started started;
    started.error =
        ::posix_spawnp(&started.pid, arguments.front(), &actions, &attributes, arguments.data(), environment.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    return started;
}

}  // namespace

Answer RealCommands::run(const std::vector<std::string>& command) {
    Answer answer{.limit = limit_};
    if (gives_up_) return answer.hung = true, answer;
    Descriptor out, out_end, error, error_end;
    if (!make_pipe(out, out_end) || !make_pipe(error, error_end)) {
        answer.error = "no pipe is left";
        return answer;
    }
    for (const Descriptor* end : {&out, &error}) ::fcntl(end->get(), F_SETFL, O_NONBLOCK);
    const Started child = start(command, out_end, error_end);
    out_end = Descriptor();
    error_end = Descriptor();
    if (child.error != 0) {
        answer.missing = child.error == ENOENT;
        answer.error = printable(command.front()) + ": " + std::strerror(child.error);
        return answer;
    }
    const SteadyClock clock;
    const Seconds end = clock.now() + limit_;
    bool reads_out = true, reads_error = true, killed = false;
    for (;;) {
        std::array<pollfd, 2> ready{pollfd{reads_out ? out.get() : -1, POLLIN, 0},
                                    pollfd{reads_error ? error.get() : -1, POLLIN, 0}};
        ::poll(ready.data(), ready.size(), look_every);
        if (ready[0].revents != 0) reads_out = read_waiting(out, answer.out);
        if (ready[1].revents != 0) reads_error = read_waiting(error, answer.error);
        int status = 0;
        if (::waitpid(child.pid, &status, WNOHANG) == child.pid) {
            (void)read_waiting(out, answer.out);
            (void)read_waiting(error, answer.error);
            if (WIFEXITED(status) && !killed) answer.status = WEXITSTATUS(status);
            return answer;
        }
        if (killed && clock.now() > end + Seconds(1)) return answer;  // stuck in the kernel; not waited for
        if (killed || (clock.now() < end && !gives_up_)) continue;
        ::kill(-child.pid, SIGKILL);
        killed = answer.hung = true;
    }
}

void RealCommands::pause(Seconds time) {
    const SteadyClock clock;
    for (const Seconds end = clock.now() + time; clock.now() < end && !gives_up_;) ::poll(nullptr, 0, look_every);
}

Seconds command_limit() {
    const char* text = std::getenv("HPO_SLURM_TIMEOUT");
    if (!text || !*text) return Seconds(60);
    const auto seconds = study::duration_of(text);
    if (!seconds || *seconds <= 0)
        throw Fatal("HPO_SLURM_TIMEOUT is a duration, such as 30s; found " + std::string(text), 2);
    return Seconds(*seconds);
}

}  // namespace hpo::slurm
