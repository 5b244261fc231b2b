#include "orchestrator/cluster/tls_link.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "hpo/printable.hpp"
#include "hpo/version.hpp"
#include "orchestrator/cluster/messages.hpp"
#include "os/descriptors.hpp"

namespace hpo::cluster {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t most_tls_record = 16 * 1024;  ///< bytes that one read returns at most

/// Both ends send every few seconds, so that a cut network is noticed, and another connection tried, well before either
/// end gives the other up.
constexpr int unconfirmed_within_ms = static_cast<int>(1000 * unconfirmed_within);

std::string peer_of(const tcp::socket& socket) {
    error_code error;
    const tcp::endpoint end = socket.remote_endpoint(error);
    return error ? std::string("an unknown address") : end.address().to_string() + ':' + std::to_string(end.port());
}

}  // namespace

void prepare(tcp::socket& socket) {
    ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    const int on = 1;
    (void)::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    os::limit_unconfirmed(socket.native_handle(), unconfirmed_within_ms);
}

TlsLink::TlsLink(tcp::socket socket, std::shared_ptr<asio::ssl::context> tls)
    : tls_(std::move(tls)),
      stream_(std::move(socket), *tls_),
      callbacks_(std::make_shared<const Callbacks>()),
      peer_(peer_of(stream_.next_layer())),
      buffer_(most_tls_record, '\0') {}

void TlsLink::start(TlsRole role) {
    const auto way = role == TlsRole::server ? asio::ssl::stream_base::server : asio::ssl::stream_base::client;
    stream_.async_handshake(way, [self = shared_from_this(), role](error_code error) {
        if (self->closed_) return;
        if (error) {
            if (error.category() != asio::error::get_ssl_category()) return self->end(End::broken, error.message());
            const TlsRefusal refusal = refusal_of(role, error);
            return self->end(refusal.other_key ? End::other_key : End::refused, refusal.why);
        }
        self->open_ = true;
        self->queued_.insert(0, encode(Opening{stream_version, version}));
        self->write();
        if (const auto callbacks = self->callbacks_; callbacks->open) callbacks->open();
        self->read();
    });
}

void TlsLink::read() {
    if (!open_ || paused_ || ending_ || closed_ || std::exchange(reading_, true)) return;
    stream_.async_read_some(asio::buffer(buffer_), [self = shared_from_this()](error_code error, std::size_t size) {
        self->reading_ = false;
        if (self->closed_ || self->ending_) return;
        if (error) return self->end(End::broken, error.message());
        const auto take = [&](std::uint8_t kind, std::string_view payload) {
            if (self->closed_ || self->ending_ || self->has_another_version()) return;
            const auto callbacks = self->callbacks_;
            if (callbacks->frame) callbacks->frame(static_cast<JoinKind>(kind), payload);
        };
        const bool valid = self->reader_.feed(std::string_view(self->buffer_).substr(0, size), take);
        if (self->closed_ || self->ending_) return;
        if (self->has_another_version()) {
            const std::string theirs = printable(self->reader_.opening()->program);
            const std::string other = theirs == version ? " of another build" : "";
            self->send(JoinKind::refused, "the other end has hpo " + std::string(version) + ", and this is hpo " +
                                              theirs + other + ": install the same on all hosts");
            const auto callbacks = self->callbacks_;
            self->close_when_sent();
            if (callbacks->ended)
                callbacks->ended(End::refused, "it has hpo " + theirs + ", and this is hpo " + version + other +
                                                   ": install the same on all hosts");
            return;
        }
        if (!valid) return self->end(End::refused, "it sends what is no frame of hpo");
        self->read();
    });
}

bool TlsLink::has_another_version() const {
    const auto& opening = reader_.opening();
    return opening && (opening->version != stream_version || opening->program != version);
}

void TlsLink::send(JoinKind kind, std::string_view payload) {
    if (closed_ || ending_) return;
    queued_ += frame(static_cast<std::uint8_t>(kind), payload);
    if (open_ && writing_.empty()) write();
}

void TlsLink::write() {
    writing_ = std::exchange(queued_, {});
    asio::async_write(stream_, asio::buffer(writing_), [self = shared_from_this()](error_code error, std::size_t) {
        self->writing_.clear();
        if (self->closed_) return;
        if (error) return self->end(End::broken, error.message());
        if (!self->queued_.empty()) return self->write();
        if (self->ending_) self->close();
    });
}

void TlsLink::pause(bool paused) {
    if (std::exchange(paused_, paused) && !paused) read();
}

void TlsLink::end(End end, const std::string& why) {
    const auto callbacks = callbacks_;
    const bool told = ending_;
    close();
    if (!told && callbacks->ended) callbacks->ended(end, why);
}

void TlsLink::close_when_sent() {
    ending_ = true;
    if (!open_ || (writing_.empty() && queued_.empty())) close();
}

void TlsLink::close() {
    closed_ = true;
    error_code ignored;
    stream_.next_layer().close(ignored);
}

}  // namespace hpo::cluster
