#include "orchestrator/script/client_link.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "hpo/send_all.hpp"
#include "hpo/shortage.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/execution/random_token.hpp"
#include "os/descriptors.hpp"

namespace hpo::script {

using std::string;
using std::string_view;

ClientLink::~ClientLink() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

Result<void> ClientLink::listen(const string& endpoint) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const string path = endpoint.substr(0, endpoint.rfind('/') + 1) + "script-" + std::to_string(::getpid());
    const auto failed = [&] { return Error{"cannot listen for the script's client: " + string(std::strerror(errno))}; };
    if (path.size() >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return failed();
    }
    path.copy(address.sun_path, path.size());
    ::unlink(path.c_str());  // of a process that had the same number and was killed
    Descriptor listener = os::open_socket(AF_UNIX, SOCK_STREAM, os::Calls::return_at_once);
    if (!listener || ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return failed();
    path_ = path;
    if (::listen(listener.get(), 8) != 0) return failed();
    listener_ = std::move(listener);
    token_ = random_token();
    return {};
}

std::vector<string> ClientLink::environment() const {
    return {"HPO_ENDPOINT=" + (token_.empty() ? string() : path_), "HPO_TOKEN=" + token_};
}

void ClientLink::accept() {
    Descriptor connection = os::accept_connection(listener_.get());
    if (!connection || connection_) return;
    connection_ = std::move(connection);
    lines_ = LineSplitter(max_line_bytes);
    known_ = false;
}

bool ClientLink::read() {
    if (!connection_) return false;
    char buffer[max_line_bytes];
    const ssize_t size = ::recv(connection_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (size < 0 && (errno == EINTR || is_shortage(errno))) return false;
    if (size <= 0) {
        connection_.reset();
        return false;
    }
    const auto dropped = lines_.dropped();
    lines_.feed({buffer, static_cast<std::size_t>(size)}, [this](string_view line) {
        if (connection_) take(line);
    });
    if (lines_.dropped() > dropped)
        std::fprintf(stderr, "hpo: a message of the script's client has more than %zu bytes and is not read\n",
                     max_line_bytes);
    return true;
}

void ClientLink::take(string_view line) {
    if (known_) return events_.line(line);
    const auto message = wire::decode_worker(line);
    const auto* hello = message ? std::get_if<from_worker::Hello>(&*message) : nullptr;
    if (hello == nullptr || hello->token != token_) return connection_.reset();
    if (hello->version < oldest_protocol_version || hello->version > protocol_version) {
        std::fprintf(stderr, "hpo: the script's client speaks version %d of the protocol; this hpo speaks %d to %d\n",
                     hello->version, oldest_protocol_version, protocol_version);
        return connection_.reset();
    }
    known_ = used_ = true;
    events_.hello(*hello);
}

void ClientLink::send(const OrchestratorMessage& message) {
    if (connected() && !send_all(connection_.get(), wire::encode(message)))
        ::shutdown(connection_.get(), SHUT_RDWR);  // read() sees the end
}

}  // namespace hpo::script
