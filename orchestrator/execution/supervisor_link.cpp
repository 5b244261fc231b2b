#include "orchestrator/execution/supervisor_link.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <csignal>
#include <thread>

#include "hpo/descriptor.hpp"
#include "orchestrator/execution/processes.hpp"
#include "orchestrator/execution/supervisor.hpp"
#include "os/environment.hpp"
#include "os/not_executed.hpp"

namespace hpo {
namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;

namespace {

/// Bytes that are read at once: a worker that floods its output delays the others by no more.
constexpr std::size_t event_bytes = 64 * 1024;
constexpr milliseconds session_within{200};
constexpr milliseconds longest_pause{16};  ///< between two checks whether a dying supervisor is gone

std::vector<std::string> environment_with(const std::string& entry) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    std::vector<std::string> all{entry};
    for (char** other = environ; *other != nullptr; ++other)
        if (!std::string_view(*other).starts_with(name)) all.emplace_back(*other);
    return all;
}

}  // namespace

SupervisorLink::SupervisorLink(asio::io_context& loop, Callbacks callbacks)
    : callbacks_(std::move(callbacks)), timer_(loop), orders_(loop), events_(loop), buffer_(event_bytes, '\0') {}

SupervisorLink::~SupervisorLink() = default;

int SupervisorLink::start(const std::filesystem::path& program, const std::string& tag, const SoftLimits& limits) {
    Descriptor orders_read, orders_write, events_read, events_write;
    if (!make_pipe(orders_read, orders_write) || !make_pipe(events_read, events_write)) return errno;
    std::vector<std::string> arguments{program.string(), supervisor_command};
    for (std::string& argument : to_arguments(limits)) arguments.push_back(std::move(argument));
    std::vector<std::string> variables = environment_with(std::string(tag_variable) + "=" + tag);
    const auto pointers = [](std::vector<std::string>& strings) {
        std::vector<char*> list;
        for (std::string& text : strings) list.push_back(text.data());
        list.push_back(nullptr);
        return list;
    };
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, orders_read.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, events_write.get(), STDOUT_FILENO);
    const int error =
        ::posix_spawn(&pid_, program.c_str(), &files, nullptr, pointers(arguments).data(), pointers(variables).data());
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) {
        pid_ = 0;
        return error;
    }
    program_ = program;
    orders_.assign(orders_write.release());
    events_.assign(events_read.release());
    read();
    return 0;
}

void SupervisorLink::read() {
    events_.async_read_some(asio::buffer(buffer_), [self = shared_from_this()](error_code error, std::size_t size) {
        if (!self->callbacks_.gone) return;
        const auto take = [&](std::uint32_t kind, std::string_view payload) {
            if (self->callbacks_.event) self->callbacks_.event(static_cast<supervisor::Event>(kind), payload);
        };
        if (error || !self->frames_.feed(std::string_view(self->buffer_).substr(0, size), take)) return self->ended();
        self->read();
    });
}

/// Takes in that the pipe is closed or carries invalid frames.
void SupervisorLink::ended() {
    destroy();
    await_end(milliseconds(1));
}

/// Polls, because pidfds may be refused (seccomp).
void SupervisorLink::await_end(milliseconds pause) {
    sweep_session();
    if (!reaped()) {
        timer_.expires_after(pause);
        timer_.async_wait([self = shared_from_this(), pause](error_code error) {
            if (!error) self->await_end(std::min(2 * pause, longest_pause));
        });
        return;
    }
    const auto gone = std::move(callbacks_.gone);
    close();
    if (gone) gone(error_);
}

/// Kills the rest of the session that a killed supervisor has led, as long as it is a zombie and no other process can
/// have its pid: processes with and without a tag.
void SupervisorLink::sweep_session() {
    siginfo_t info{};
    if (pid_ == 0 || ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG) != 0) return;
    if (info.si_pid != pid_) return;
    const auto kill = [this] { return kill_each([this](pid_t pid) { return in_session(pid, pid_); }).size(); };
    (void)until_none_is_left(kill, session_within);
}

bool SupervisorLink::reaped() {
    while (pid_ != 0) {
        int status = 0;
        const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
        if (ended == 0) return false;
        if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == os::not_executed)
            error_ = os::execution_error(program_);
        if (ended > 0 || errno != EINTR) pid_ = 0;
    }
    return true;
}

void SupervisorLink::order(supervisor::Order order, std::string_view payload) {
    if (!orders_.is_open()) return;
    queued_ += supervisor::frame(order, payload);
    if (writing_.empty()) write();
}

void SupervisorLink::write() {
    writing_ = std::exchange(queued_, {});
    asio::async_write(orders_, asio::buffer(writing_), [self = shared_from_this()](error_code error, std::size_t) {
        self->writing_.clear();
        if (!error && self->orders_.is_open() && !self->queued_.empty()) self->write();
    });
}

void SupervisorLink::close() {
    callbacks_ = {};
    error_code ignored;
    timer_.cancel(ignored);
    orders_.close(ignored);
    events_.close(ignored);
}

bool SupervisorLink::wait(std::chrono::steady_clock::time_point deadline) {
    for (milliseconds pause(1); !reaped(); pause = std::min(2 * pause, longest_pause)) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(pause);
    }
    return true;
}

void SupervisorLink::destroy() {
    if (pid_ != 0) ::kill(pid_, SIGKILL);
}

}  // namespace hpo
