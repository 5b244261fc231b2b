#include "orchestrator/devices/helper_link.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "orchestrator/devices/helper.hpp"
#include "os/descriptors.hpp"
#include "os/environment.hpp"
#include "os/not_executed.hpp"

namespace hpo {

std::string HelperLink::start(const std::filesystem::path& program, const char* library) {
    os::Pair pair = os::stream_pair();
    if (!pair) return std::strerror(errno);

    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, pair.other.get(), STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // The helper gets a session of its own, so that Ctrl-C reaches the orchestrator only.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

    std::string path = program.string(), command = device_helper_command, name = library;
    char* arguments[] = {path.data(), command.data(), name.data(), nullptr};
    const int error = ::posix_spawn(&pid_, path.c_str(), &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
        pid_ = 0;
        return path + ": " + std::strerror(error);
    }
    program_ = program;
    socket_ = std::move(pair.one);
    closed_ = false;
    lines_ = LineSplitter(1 << 20);
    return {};
}

void HelperLink::ask() { (void)::send(socket_.get(), "?", 1, MSG_NOSIGNAL | MSG_DONTWAIT); }

std::optional<std::string> HelperLink::answer() {
    std::optional<std::string> newest;
    char buffer[16384];
    while (socket_ && !closed_) {
        const auto size = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        closed_ = size <= 0;
        if (size > 0)
            lines_.feed({buffer, static_cast<std::size_t>(size)}, [&](std::string_view line) { newest = line; });
    }
    return newest;
}

std::optional<HelperLink::End> HelperLink::ended() {
    int status = 0;
    if (!socket_ || !closed_ || ::waitpid(pid_, &status, WNOHANG) == 0) return std::nullopt;
    pid_ = 0;
    socket_.reset();
    if (WIFSIGNALED(status))
        return End{true, "signal " + std::to_string(WTERMSIG(status)) + ", " + ::strsignal(WTERMSIG(status))};
    if (WEXITSTATUS(status) == os::not_executed)
        return End{false, program_.string() + ": " + std::strerror(os::execution_error(program_))};
    return End{true, "status " + std::to_string(WEXITSTATUS(status))};
}

void HelperLink::kill() {
    if (pid_ != 0) ::kill(pid_, SIGKILL);
    socket_.reset();
    (void)reaped();
}

bool HelperLink::reaped() {
    if (pid_ != 0 && !socket_ && ::waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = 0;
    return pid_ == 0;
}

}  // namespace hpo
