// The connection of a script that uses a client (docs/protocol.md). The adapter has the connection to hpo, so the
// script connects to the adapter, which passes the messages on.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/descriptor.hpp"
#include "hpo/lines.hpp"
#include "hpo/messages.hpp"
#include "hpo/result.hpp"

namespace hpo::script {

class ClientLink {
   public:
    struct Events {
        std::function<void(const from_worker::Hello&)> hello;  ///< a client has connected, with the right token
        std::function<void(std::string_view line)> line;       ///< any later line, without its newline
    };
    explicit ClientLink(Events events) : events_(std::move(events)) {}
    ClientLink(const ClientLink&) = delete;
    ClientLink& operator=(const ClientLink&) = delete;
    ~ClientLink();

    /// Listens on a socket beside that of hpo at `endpoint`, whose folder is private. On failure errno tells why.
    Result<void> listen(const std::string& endpoint);
    /// Returns the variables by which a script finds the socket. They are empty before listen().
    [[nodiscard]] std::vector<std::string> environment() const;

    /// Returns descriptors to poll for input: the socket and the connection, each -1 if there is none.
    [[nodiscard]] std::array<int, 2> descriptors() const { return {listener_.get(), connection_.get()}; }
    /// Accepts a connection if there is no other. A script may connect again after its first process has ended.
    void accept();
    /// Reads the input that has arrived, without waiting. Returns false if there is none.
    bool read();

    /// Returns true while a client with the right token is connected.
    [[nodiscard]] bool connected() const { return connection_ && known_; }
    /// Returns true if one was ever connected.
    [[nodiscard]] bool used() const { return used_; }
    /// Does nothing if no client is connected.
    void send(const OrchestratorMessage& message);

   private:
    void take(std::string_view line);

    Events events_;
    std::string path_, token_;
    Descriptor listener_, connection_;
    LineSplitter lines_{max_line_bytes};
    bool known_ = false;  ///< the connection has sent the token
    bool used_ = false;
};

}  // namespace hpo::script
