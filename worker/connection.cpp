#include "worker/connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "hpo/send_all.hpp"
#include "hpo/shortage.hpp"
#include "hpo/wire.hpp"
#include "os/descriptors.hpp"

namespace hpo {

Result<Connection> Connection::open(const std::string& socket_path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_path.size() >= sizeof address.sun_path)
        return Error{"HPO_ENDPOINT: a socket's path holds at most " + std::to_string(sizeof address.sun_path - 1) +
                     " bytes: " + socket_path};
    socket_path.copy(address.sun_path, socket_path.size());
    Connection connection(os::open_socket(AF_UNIX, SOCK_STREAM).release());
    if (connection.descriptor_ < 0 ||
        connect(connection.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return Error{"HPO_ENDPOINT: " + socket_path + ": " + std::strerror(errno)};
    return connection;
}

Connection::Connection(int descriptor) : descriptor_(descriptor) {}

Connection::Connection(Connection&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      lines_(std::move(other.lines_)),
      received_(std::move(other.received_)) {}

Connection::~Connection() {
    if (descriptor_ >= 0) close(descriptor_);
}

void Connection::send(const WorkerMessage& message) {
    if (!send_all(descriptor_, wire::encode(message))) throw Disconnected{};
}

std::optional<OrchestratorMessage> Connection::receive(double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (received_.empty()) {
        const double left = seconds > 0 ? std::chrono::duration<double>(end - Clock::now()).count() : 0;
        if (!read_more(std::max(0.0, left)) && left <= 0) return std::nullopt;
    }
    OrchestratorMessage message = std::move(received_.back());
    received_.pop_back();
    return message;
}

/// Returns whether bytes were received.
bool Connection::read_more(double seconds) {
    if (seconds > 0) {
        pollfd waiting{descriptor_, POLLIN, 0};
        if (poll(&waiting, 1, static_cast<int>(std::ceil(seconds * 1000))) <= 0) return false;
    }
    std::array<char, 16384> buffer;
    const auto size = recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && is_shortage(errno)) return false;
    if (size <= 0) throw Disconnected{};
    const auto dropped = lines_.dropped();
    lines_.feed({buffer.data(), static_cast<std::size_t>(size)}, [&](std::string_view line) {
        auto message = wire::decode_orchestrator(line);
        if (message)
            received_.push_back(*std::move(message));
        else
            std::fprintf(stderr, "ignored a message: %s\n", message.error().message.c_str());
    });
    if (lines_.dropped() != dropped) {
        // The answer to the message would never come, and hpo would wait for it.
        std::fprintf(stderr, "hpo sent a message of more than %zu bytes\n", max_line_bytes);
        throw Disconnected{};
    }
    std::reverse(received_.begin(), received_.end());
    return true;
}

}  // namespace hpo
