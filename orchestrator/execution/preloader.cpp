#include "orchestrator/execution/preloader.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string_view>

#include "orchestrator/execution/child.hpp"
#include "os/descriptors.hpp"

namespace hpo::supervisor {
namespace {

constexpr int socket_bytes = 1024 * 1024;  ///< an order with a large environment is one packet

/// The interpreter gets the environment of the trials, without the variables of a worker's connection.
Start interpreter_for(const Start& worker) {
    Start start = worker;
    start.command = worker.preload;
    std::erase_if(start.environment, [](const std::string& variable) {
        return variable.starts_with("HPO_ENDPOINT=") || variable.starts_with("HPO_TOKEN=");
    });
    return start;
}

pid_t number_in(std::string_view text) {
    pid_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace

Preloader::Preloader(const Start& worker) {
    os::Pair pair = os::message_pair();
    if (!pair) {
        problem_ = std::string("no socket for it: ") + std::strerror(errno);
        return;
    }
    socket_ = std::move(pair.one);
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &socket_bytes, sizeof socket_bytes);
    Child child = start_child(interpreter_for(worker), pair.other.get());
    if (child.pid == 0) {
        problem_ = "cannot " + child.failed + ": " + std::strerror(child.error);
        return;
    }
    pid_ = child.pid;
    output = std::move(child.output);
}

Descriptor Preloader::order(const Start& worker) {
    Descriptor read_end, write_end;
    Start whole = worker;
    whole.environment = merged_environment(worker.environment);
    whole.preload.clear();
    std::string packed = pack(whole);
    iovec bytes{packed.data(), packed.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    if (make_pipe(read_end, write_end)) {
        const int descriptor = write_end.get();
        std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
        if (::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
            ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
            return read_end;
        }
    }
    problem_ = std::string("it takes no order: ") + std::strerror(errno);
    return {};
}

std::optional<pid_t> Preloader::read() {
    std::optional<pid_t> running;
    char buffer[2048];
    while (socket_) {
        const ssize_t size = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (size < 0 && errno == EAGAIN) return running;
        // ECONNRESET: the preloader ended with an order that it had not read. This is reported once, before the end of
        // its output.
        if (size < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
        if (size <= 0) {
            socket_.reset();
            if (pid_ != 0) ::kill(pid_, SIGKILL);  // the preloader is ending; reaped() reports how
            return running;
        }
        const std::string_view text(buffer, static_cast<std::size_t>(size));
        const auto space = text.find(' ');
        const std::string_view kind = text.substr(0, space);
        const std::string_view rest = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
        if (kind == "standby") standby_ = number_in(rest);
        if (kind == "running") running = number_in(rest), standby_ = 0;
        if (kind == "unfit") problem_ = rest;
    }
    return running;
}

void Preloader::reaped(pid_t pid, int status) {
    if (pid == standby_) standby_ = 0;
    if (pid != pid_) return;
    pid_ = 0;
    if (!problem_.empty()) return;
    problem_ = WIFSIGNALED(status) ? "it died of signal " + std::to_string(WTERMSIG(status))
                                   : "it exited with status " + std::to_string(WEXITSTATUS(status));
}

void Preloader::end() {
    socket_.reset();
    // These are children that were not reaped, so no other process can have their pids.
    for (const pid_t pid : {pid_, standby_})
        if (pid != 0) ::kill(pid, SIGKILL);
}

}  // namespace hpo::supervisor
