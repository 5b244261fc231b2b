// One worker's socket: lines in, decoded; lines out, queued. Both in bounded memory.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "hpo/lines.hpp"
#include "hpo/messages.hpp"

namespace hpo {

/// Every text of a message, but what is only compared, without control characters (newlines stay): the one place where
/// words of workers are made fit for terminals, logs and the database.
void make_printable(WorkerMessage& message);

class WorkerConnection : public std::enable_shared_from_this<WorkerConnection> {
   public:
    using Socket = boost::asio::local::stream_protocol::socket;
    struct Events {
        std::function<void(WorkerMessage&&)> message;
        std::function<void(const std::string& why)> garbage;  ///< a line that is no message; `why` is printable
        std::function<void()> closed;                         ///< by the peer; nothing follows
    };

    explicit WorkerConnection(Socket socket);
    /// Changes who is told; once authenticated, a connection belongs to a place.
    void listen(Events events) { events_ = std::move(events); }
    void read();
    /// False: the peer has not read for so long that the queue is full; the message is lost.
    bool send(const OrchestratorMessage& message);
    /// Process at the other end when it connected, as the kernel knows it: 0 where it does not say.
    [[nodiscard]] std::int64_t peer() const;
    /// No more events.
    void close();

   private:
    void take(std::size_t size);
    void write();

    Socket socket_;
    Events events_;
    LineSplitter lines_{max_line_bytes};
    std::string buffer_;
    std::string queued_;
    std::string writing_;
};

}  // namespace hpo
