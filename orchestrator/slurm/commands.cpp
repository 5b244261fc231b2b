#include "orchestrator/slurm/commands.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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
#include "orchestrator/execution/spawn.hpp"
#include "orchestrator/study/fields.hpp"
#include "os/environment.hpp"

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

std::vector<std::string> environment_for_commands() {
    std::vector<std::string> kept;
    for (char** variable = environ; *variable; ++variable)
        if (!is_dropped(*variable)) kept.emplace_back(*variable);
    return kept;
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
    pid_t child = 0;
    const int failed = spawn(
        {.command = command, .environment = environment_for_commands(), .out = out_end.get(), .error = error_end.get()},
        child);
    out_end = Descriptor();
    error_end = Descriptor();
    if (failed != 0) {
        answer.missing = failed == ENOENT;
        answer.error = printable(command.front()) + ": " + std::strerror(failed);
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
        if (::waitpid(child, &status, WNOHANG) == child) {
            (void)read_waiting(out, answer.out);
            (void)read_waiting(error, answer.error);
            if (WIFEXITED(status) && !killed) answer.status = WEXITSTATUS(status);
            return answer;
        }
        if (killed && clock.now() > end + Seconds(1)) return answer;  // stuck in the kernel; not waited for
        if (killed || (clock.now() < end && !gives_up_)) continue;
        ::kill(-child, SIGKILL);
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
