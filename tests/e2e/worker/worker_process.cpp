#include "tests/e2e/worker/worker_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "hpo/wire.hpp"

extern char** environ;

namespace hpo::test {
namespace {

void require(bool good, const char* what) {
    if (!good) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

bool readable(int descriptor) {
    pollfd waiting{descriptor, POLLIN, 0};
    return poll(&waiting, 1, static_cast<int>(deadline * 1000)) == 1;
}

/// This process's environment without `hpo`'s variables, with those of a worker, and with `more`, each name once: of
/// several equal names getenv() takes the first and the dynamic loader the last.
std::vector<std::string> environment(const std::string& endpoint, const std::vector<std::string>& more) {
    std::map<std::string, std::string> values;
    const auto set = [&](const std::string& entry) {
        const std::size_t equals = entry.find('=');
        values[entry.substr(0, equals)] = entry.substr(equals);
    };
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (std::strncmp(*entry, "HPO_", 4) != 0) set(*entry);
    if (!endpoint.empty()) set("HPO_ENDPOINT=" + endpoint);
    set("HPO_TOKEN=secret");
    set("HPO_TUNING=off");  // the mock driver computes slowly
    // The first of equal names counts.
    for (auto entry = more.rbegin(); entry != more.rend(); ++entry) set(*entry);
    std::vector<std::string> all;
    for (const auto& [name, value] : values) all.push_back(name + value);
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& argv) {
    std::vector<char*> all;
    for (std::string& text : argv) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
}

}  // namespace

WorkerProcess::WorkerProcess(const std::vector<std::string>& arguments, const std::optional<std::string>& endpoint,
                             const std::vector<std::string>& more) {
    const std::string path = (folder_ / "socket").string();
    if (!endpoint) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        require(path.size() < sizeof address.sun_path, "the socket's path is too long");
        path.copy(address.sun_path, path.size());
        listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        require(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "bind");
        require(listen(listener_, 1) == 0, "listen");
    }
    const std::string program = hpo::testing::build_folder() + "/bin/hpo-worker";
    std::vector<std::string> argv{program};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    std::vector<std::string> variables = environment(endpoint.value_or(path), more);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, (folder_ / "output").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    errno = posix_spawn(&pid_, program.c_str(), &actions, nullptr, pointers(argv).data(), pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    require(errno == 0, program.c_str());
}

WorkerProcess::~WorkerProcess() {
    if (pid_ > 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    disconnect();
    if (listener_ >= 0) close(listener_);
}

void WorkerProcess::accept() {
    require(readable(listener_), "the worker did not connect");
    connection_ = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    require(connection_ >= 0, "accept");
}

bool WorkerProcess::connects() const {
    pollfd waiting{listener_, POLLIN, 0};
    return poll(&waiting, 1, 0) > 0;
}

void WorkerProcess::send(const OrchestratorMessage& message) { send_bytes(wire::encode(message)); }

void WorkerProcess::send_bytes(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto sent = ::send(connection_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        require(sent > 0, "send");
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

void WorkerProcess::disconnect() {
    if (connection_ >= 0) close(connection_);
    connection_ = -1;
}

std::optional<WorkerMessage> WorkerProcess::receive_any() {
    while (received_.empty()) {
        require(readable(connection_), "nothing from the worker");
        std::array<char, 65536> buffer;
        const auto size = recv(connection_, buffer.data(), buffer.size(), 0);
        if (size <= 0) throw std::runtime_error("the worker closed the connection; its output: " + output());
        lines_.feed({buffer.data(), static_cast<std::size_t>(size)}, [&](std::string_view line) {
            auto message = wire::decode_worker(line);
            if (!message) throw std::runtime_error("not a message: " + message.error().message);
            received_.push_back(*std::move(message));
        });
    }
    WorkerMessage message = std::move(received_.front());
    received_.pop_front();
    if (const auto* alive = std::get_if<from_worker::Alive>(&message)) {
        ++alive_[alive->phase];
        return std::nullopt;
    }
    return message;
}

WorkerMessage WorkerProcess::receive() {
    while (true)
        if (auto message = receive_any()) return *std::move(message);
}

void WorkerProcess::wait_alive(const std::string& phase) {
    for (const int before = alive(phase); alive(phase) == before;)
        if (auto other = receive_any()) throw std::runtime_error("a message where none was expected");
}

int WorkerProcess::wait() {
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    require(descriptor >= 0, "pidfd_open");
    const bool ended = readable(descriptor);
    close(descriptor);
    require(ended, "the worker did not end");
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string WorkerProcess::output() const {
    std::ifstream file(folder_ / "output");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace hpo::test
