// A worker's connection to the orchestrator: a Unix socket with one message a line (docs/protocol.md).
#pragma once

#include <optional>
#include <string>

#include "hpo/lines.hpp"
#include "hpo/messages.hpp"
#include "hpo/result.hpp"

namespace hpo {

/// Thrown when the orchestrator has closed the connection, so that the worker's results are no longer read. It is no
/// std::exception, so that code which turns errors into outcomes does not catch it.
struct Disconnected {};

/// Used by one thread. Every call may throw Disconnected.
class Connection {
   public:
    static Result<Connection> open(const std::string& socket_path);
    /// Takes ownership of a connected socket.
    explicit Connection(int descriptor);
    Connection(Connection&& other) noexcept;
    Connection& operator=(Connection&&) = delete;
    ~Connection();

    /// Returns when the system has accepted the whole message.
    void send(const WorkerMessage& message);

    /// Returns the next message, for which it waits `seconds` at most (0: not at all). A line that is no message is
    /// reported on stderr and skipped.
    std::optional<OrchestratorMessage> receive(double seconds);

   private:
    bool read_more(double seconds);

    int descriptor_;
    LineSplitter lines_{max_line_bytes};
    std::vector<OrchestratorMessage> received_;  ///< in reverse: the next one is the last
};

}  // namespace hpo
