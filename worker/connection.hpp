// A worker's line to the orchestrator: a Unix socket, one message a line (docs/protocol.md).
#pragma once

#include <optional>
#include <string>

#include "hpo/lines.hpp"
#include "hpo/messages.hpp"
#include "hpo/result.hpp"

namespace hpo {

/// The orchestrator is gone; nothing that a worker does has a reader any more. No std::exception, so that what turns
/// errors into outcomes lets it through.
struct Disconnected {};

/// Used by one thread. Every call may throw Disconnected.
class Connection {
   public:
    static Result<Connection> open(const std::string& socket_path);
    /// Takes a connected socket over.
    explicit Connection(int descriptor);
    Connection(Connection&& other) noexcept;
    Connection& operator=(Connection&&) = delete;
    ~Connection();

    /// Returns when the system has taken all of it.
    void send(const WorkerMessage& message);

    /// The next message; waits for it at most `seconds` (0: not at all). Lines that are no messages are said on stderr
    /// and skipped.
    std::optional<OrchestratorMessage> receive(double seconds);

   private:
    bool read_more(double seconds);

    int descriptor_;
    LineSplitter lines_{max_line_bytes};
    std::vector<OrchestratorMessage> received_;  ///< in reverse: the next one is the last
};

}  // namespace hpo
