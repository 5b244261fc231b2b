#include "orchestrator/script/hpo_link.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "hpo/send_all.hpp"
#include "hpo/shortage.hpp"
#include "hpo/wire.hpp"
#include "os/descriptors.hpp"

namespace hpo::script {

Descriptor HpoLink::connect(const char* endpoint) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (endpoint == nullptr || std::strlen(endpoint) >= sizeof address.sun_path) return {};
    std::strcpy(address.sun_path, endpoint);
    Descriptor socket = os::open_socket(AF_UNIX, SOCK_STREAM);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
    return socket;
}

bool HpoLink::send(std::string_view line) {
    if (send_all(socket_.get(), line)) return true;
    if (is_shortage(errno)) return false;
    (void)::shutdown(socket_.get(), SHUT_RDWR);
    return true;
}

bool HpoLink::read(const std::function<void(const OrchestratorMessage&)>& take) {
    constexpr std::size_t piece_bytes = 64 * 1024;
    char buffer[piece_bytes];
    const ssize_t size = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (size < 0 && is_shortage(errno)) return true;
    if (size <= 0) return false;
    lines_.feed({buffer, static_cast<std::size_t>(size)}, [&](std::string_view line) {
        if (const auto message = wire::decode_orchestrator(line)) take(*message);
    });
    if (lines_.dropped() == 0) return true;
    std::fprintf(stderr, "hpo sent a message of more than %zu bytes\n", max_line_bytes);
    return false;
}

}  // namespace hpo::script
