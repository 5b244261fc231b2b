// The socket of one worker. Lines that arrive are decoded, messages to the worker are queued; both take bounded memory.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "hpo/lines.hpp"
#include "hpo/messages.hpp"

namespace hpo {

/// Removes control characters other than newlines from all texts of a message, except those that are only compared.
/// After this, no text of a worker can harm a terminal, a log or the database.
void make_printable(WorkerMessage& message);

class WorkerConnection : public std::enable_shared_from_this<WorkerConnection> {
   public:
    using Socket = boost::asio::local::stream_protocol::socket;
    struct Events {
        std::function<void(WorkerMessage&&)> message;
        std::function<void(const std::string& why)> malformed;  ///< a line is not a message; `why` is printable
        std::function<void()> closed;                           ///< the peer has closed it; no event follows
        /// Queued bytes cannot be sent: the buffers of the kernel have been full for a minute.
        std::function<void(const std::string& why)> failed{};
    };

    explicit WorkerConnection(Socket socket);
    /// Replaces the callbacks: a connection that has authenticated itself belongs to a worker.
    void listen(Events events) { events_ = std::move(events); }
    void read();
    /// Returns false, and drops the messages, if the queue is full because the peer does not read.
    bool send(std::span<const OrchestratorMessage> messages);
    /// Pid of the process at the other end at the time when it connected; 0 if it is unknown.
    [[nodiscard]] std::int64_t peer() const;
    /// Closes the socket; no event follows.
    void close();

   private:
    void take(std::size_t size);
    void write();
    /// Calls `act` after a short pause, if the connection is still open.
    void later(std::function<void()> act);

    Socket socket_;
    Events events_;
    LineSplitter lines_{max_line_bytes};
    std::string buffer_;
    std::string queued_;
    bool waits_to_write_ = false;
    std::optional<std::chrono::steady_clock::time_point> short_since_;
};

}  // namespace hpo
