#include "orchestrator/execution/connection.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>

#include "hpo/printable.hpp"
#include "hpo/shortage.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/execution/quick_wire.hpp"
#include "os/descriptors.hpp"

namespace hpo {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// Bytes that are read at once, about a hundred reports: a worker that sends without end delays the others by no more.
constexpr std::size_t message_bytes = 16 * 1024;
/// Limit of the messages that the peer has not read yet.
constexpr std::size_t queue_bytes = 4 * 1024 * 1024;
constexpr std::chrono::milliseconds shortage_pause{10};
constexpr std::chrono::seconds longest_shortage{60};  ///< of buffers or memory of the kernel, without anything sent

void clean(std::string& text) { text = printable(text, true); }

/// Makes the names of metrics printable.
void clean(Metrics& metrics) {
    const auto fit = [](const auto& metric) { return printable(metric.first) == metric.first; };
    if (std::all_of(metrics.begin(), metrics.end(), fit)) return;
    Metrics cleaned;
    for (const auto& [name, number] : metrics) cleaned.emplace(printable(name), number);
    metrics = std::move(cleaned);
}

}  // namespace

void make_printable(WorkerMessage& message) {
    std::visit(Overloaded{
                   [](from_worker::PlanAnswer& m) { clean(m.error); },
                   [](from_worker::Reported& m) { clean(m.report.warning), clean(m.report.metrics); },
                   [](from_worker::Alive& m) { clean(m.phase); },
                   [](from_worker::Finished& m) { clean(m.message), clean(m.values); },
                   [](from_worker::Log& m) { clean(m.text); },
                   [](auto&) {},
               },
               message);
}

WorkerConnection::WorkerConnection(Socket socket) : socket_(std::move(socket)), buffer_(message_bytes, '\0') {
    error_code ignored;
    socket_.non_blocking(true, ignored);
}

void WorkerConnection::read() {
    socket_.async_read_some(asio::buffer(buffer_), [self = shared_from_this()](error_code error, std::size_t size) {
        if (is_shortage(error.value()) && error.category() == boost::system::system_category())
            return self->later([self] { self->read(); });
        if (error) {
            const auto malformed = self->events_.malformed;
            const auto closed = self->events_.closed;
            if (malformed && !self->lines_.rest().empty()) malformed("an unfinished line at the end");
            self->close();
            if (closed) closed();
            return;
        }
        self->take(size);
        if (self->socket_.is_open()) self->read();
    });
}

void WorkerConnection::take(std::size_t size) {
    const auto dropped = lines_.dropped();
    // Callbacks are copied before they are called: a message may replace them (hello) or close this connection.
    lines_.feed(std::string_view(buffer_).substr(0, size), [&](std::string_view line) {
        auto report = wire::quick_report(line);
        auto decoded = report ? Result<WorkerMessage>(*std::move(report)) : wire::decode_worker(line);
        if (decoded) {
            make_printable(*decoded);
            if (const auto tell = events_.message) tell(*std::move(decoded));
        } else if (const auto tell = events_.malformed) {
            tell(printable(decoded.error().message));
        }
    });
    for (auto count = dropped; count < lines_.dropped(); ++count)
        if (const auto tell = events_.malformed)
            tell("a line of more than " + std::to_string(max_line_bytes) + " bytes");
}

bool WorkerConnection::send(std::span<const OrchestratorMessage> messages) {
    if (!socket_.is_open()) return true;
    if (queued_.size() > queue_bytes) return false;
    for (const OrchestratorMessage& message : messages) {
        const auto* decision = std::get_if<to_worker::Decision>(&message);
        queued_ += decision ? wire::quick_encode(*decision) : wire::encode(message);
    }
    if (!waits_to_write_) write();
    return true;
}

/// Writes as much as the socket takes now, and the rest when it takes more. A connection that fails to write is shut
/// down, so that read() sees its end, after all earlier messages of the peer.
void WorkerConnection::write() {
    error_code error;
    queued_.erase(0, socket_.write_some(asio::buffer(queued_), error));
    const bool full = error == asio::error::would_block, short_of = !full && is_shortage(error.value());
    if (!short_of) short_since_.reset();
    if (queued_.empty()) return;
    if (error && !full && !short_of) {
        error_code ignored;
        socket_.shutdown(Socket::shutdown_both, ignored);
        return;
    }
    waits_to_write_ = true;
    if (!short_of)
        return socket_.async_wait(Socket::wait_write, [self = shared_from_this()](error_code failed) {
            self->waits_to_write_ = false;
            if (!failed && self->socket_.is_open()) self->write();
        });
    const auto now = std::chrono::steady_clock::now();
    if (!short_since_) short_since_ = now;
    if (now - *short_since_ > longest_shortage) {
        if (const auto failed = events_.failed) failed("a message to it could not be sent: " + error.message());
        return;
    }
    later([self = shared_from_this()] {
        self->waits_to_write_ = false;
        self->write();
    });
}

void WorkerConnection::later(std::function<void()> act) {
    const auto timer = std::make_shared<asio::steady_timer>(socket_.get_executor(), shortage_pause);
    timer->async_wait([self = shared_from_this(), timer, act = std::move(act)](error_code error) {
        if (!error && self->socket_.is_open()) act();
    });
}

std::int64_t WorkerConnection::peer() const { return os::peer_of(const_cast<Socket&>(socket_).native_handle()); }

void WorkerConnection::close() {
    events_ = {};
    error_code ignored;
    socket_.close(ignored);
}

}  // namespace hpo
