#include "orchestrator/engine/control_port.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "os/descriptors.hpp"

namespace hpo {

namespace {

constexpr std::size_t longest_request = 4096;
constexpr std::size_t most_control_clients = 16;

}  // namespace

ControlPort::ControlPort(Descriptor listener, std::string study, ControlActions actions)
    : listener_(std::move(listener)), study_(std::move(study)), actions_(std::move(actions)) {}

Result<ControlPort> ControlPort::open(const std::filesystem::path& socket, std::string study, ControlActions actions) {
    const auto failed = [&] { return Error{socket.string() + ": " + std::strerror(errno)}; };
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket.native().size() >= sizeof address.sun_path)
        return Error{socket.string() + ": the path of a socket has at most " +
                     std::to_string(sizeof address.sun_path - 1) + " bytes"};
    std::memcpy(address.sun_path, socket.c_str(), socket.native().size());
    Descriptor listener = os::open_socket(AF_UNIX, SOCK_STREAM, os::Calls::return_at_once);
    if (!listener || ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener.get(), most_control_clients) != 0)
        return failed();
    ControlPort port(std::move(listener), std::move(study), std::move(actions));
    if (!port.watched_ || !port.watched_.add(port.listener_.get())) return failed();
    return port;
}

bool ControlPort::serve() {
    const bool accepted = accept();
    std::erase_if(clients_, [this](Client& client) { return !answer(client); });
    return accepted;
}

bool ControlPort::accept() {
    for (;;) {
        Descriptor socket = os::accept_connection(listener_.get(), os::Calls::return_at_once);
        if (!socket && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (!socket) return errno == EAGAIN;
        if (!watched_.add(socket.get())) continue;  // closed: the client may try again
        if (clients_.size() >= most_control_clients) clients_.pop_front();
        clients_.push_back({std::move(socket), LineSplitter(longest_request)});
    }
}

bool ControlPort::answer(Client& client) {
    std::array<char, 1024> bytes{};
    const auto size = ::recv(client.socket.get(), bytes.data(), bytes.size(), 0);
    if (size <= 0) return size < 0 && (errno == EAGAIN || errno == EINTR);
    std::string answers;
    client.lines.feed({bytes.data(), static_cast<std::size_t>(size)},
                      [&](std::string_view line) { answers += answer_control(std::string(line), study_, actions_); });
    if (client.lines.dropped() > 0) return false;
    return answers.empty() || ::send(client.socket.get(), answers.data(), answers.size(), MSG_NOSIGNAL) ==
                                  static_cast<ssize_t>(answers.size());
}

}  // namespace hpo
