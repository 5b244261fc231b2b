#include "orchestrator/cluster/relay.hpp"

#include <boost/asio/buffer.hpp>
#include <chrono>
#include <utility>

namespace hpo::cluster {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t most_queued = 64 * 1024;      ///< bytes that the local reader has not taken yet
constexpr std::size_t confirmed_after = 64 * 1024;  ///< bytes
constexpr std::chrono::milliseconds confirmed_within{500};

}  // namespace

Relay::Relay(asio::io_context& loop, Descriptor in, Descriptor out)
    : in_(loop, in.release()), out_(loop, out.release()), confirmer_(loop) {
    error_code ignored;
    in_.non_blocking(true, ignored);
    out_.non_blocking(true, ignored);
}

void Relay::start(Callbacks callbacks) {
    callbacks_ = std::move(callbacks);
    read_in();
    watch_out();
}

bool Relay::attach(std::shared_ptr<TlsLink> link, std::uint64_t received) {
    if (!sent_.confirm(received)) return false;
    if (link_) link_->close();
    link_ = std::move(link);
    confirmed_ = received_;  // as the messages of the connection's begin have told
    const std::weak_ptr<Relay> weak = weak_from_this();
    link_->tell({.frame =
                     [weak](JoinKind kind, std::string_view payload) {
                         if (const auto self = weak.lock()) self->take(kind, payload);
                     },
                 .ended =
                     [weak](TlsLink::End end, const std::string& why) {
                         const auto self = weak.lock();
                         if (!self || self->over_) return;
                         self->link_.reset();
                         if (const auto tell = self->callbacks_.broken) tell(end, why);
                     }});
    for (std::string_view rest = sent_.unconfirmed(); !rest.empty();) {
        const std::string_view piece = rest.substr(0, read_at_once);
        link_->send(JoinKind::data, piece);
        rest.remove_prefix(piece.size());
    }
    if (in_ended_) link_->send(JoinKind::end, last_words_);
    link_->pause(queued_.size() > most_queued);
    read_in();
    return true;
}

void Relay::take(JoinKind kind, std::string_view payload) {
    if (over_) return;
    switch (kind) {
        case JoinKind::data:
            if (peer_ended_) return refuse("it sends data after their end");
            received_ += payload.size();
            if (out_.is_open()) queued_.append(payload);
            if (!writing_) write_out();
            return confirm_soon();
        case JoinKind::confirm: {
            const auto count = decode_confirm(payload);
            if (!count || !sent_.confirm(*count)) return refuse("it confirms what was not sent");
            return read_in();
        }
        case JoinKind::end:
            peer_ended_ = true;
            if (const auto tell = callbacks_.peer_ended) tell(payload);
            if (!writing_) write_out();
            return;
        case JoinKind::refused: {
            const auto link = std::exchange(link_, nullptr);
            link->close();
            if (const auto tell = callbacks_.broken) tell(TlsLink::End::refused, std::string(payload));
            return;
        }
        default:
            return refuse("it joins twice");
    }
}

/// Ends a connection whose other end does not follow the rules.
void Relay::refuse(const std::string& why) {
    const auto link = std::exchange(link_, nullptr);
    link->send(JoinKind::refused, why);
    link->close_when_sent();
    if (const auto tell = callbacks_.broken) tell(TlsLink::End::refused, why);
}

// ---- From this process to the other end.

/// While the window is full, the writer of the descriptor waits.
void Relay::read_in() {
    if (in_ended_ || over_ || sent_.is_full() || std::exchange(reading_, true)) return;
    in_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](error_code error) {
        self->reading_ = false;
        if (self->over_) return;
        const auto buffer = read_buffer();
        const std::size_t size = error ? 0 : self->in_.read_some(asio::buffer(buffer.data(), buffer.size()), error);
        if (error == asio::error::would_block) return self->read_in();
        if (error) {
            self->in_ended_ = true;
            if (self->link_) self->link_->send(JoinKind::end, self->last_words_);
            if (const auto tell = self->callbacks_.in_ended) tell();
            return self->check_over();
        }
        const std::string_view bytes(buffer.data(), size);
        self->sent_.push(bytes);
        if (self->link_) self->link_->send(JoinKind::data, bytes);
        self->read_in();
    });
}

// ---- From the other end to this process.

void Relay::write_out() {
    if (over_) return;
    error_code error;
    if (!queued_.empty() && out_.is_open()) queued_.erase(0, out_.write_some(asio::buffer(queued_), error));
    if (error && error != asio::error::would_block) queued_.clear();  // watch_out() tells
    if (link_) link_->pause(queued_.size() > most_queued);
    if (queued_.empty()) {
        error_code ignored;
        if (peer_ended_) out_.close(ignored);
        return check_over();
    }
    writing_ = true;
    out_.async_wait(asio::posix::stream_descriptor::wait_write, [self = shared_from_this()](error_code failed) {
        self->writing_ = false;
        if (!failed) self->write_out();
    });
}

/// Notices that the reader has closed its end.
void Relay::watch_out() {
    out_.async_wait(asio::posix::stream_descriptor::wait_error, [self = shared_from_this()](error_code error) {
        if (error || self->over_) return;
        error_code ignored;
        self->queued_.clear();
        self->out_.close(ignored);
        if (const auto tell = self->callbacks_.out_gone) tell();
    });
}

void Relay::confirm_soon() {
    if (received_ - confirmed_ >= confirmed_after) return confirm();
    if (std::exchange(confirms_, true)) return;
    confirmer_.expires_after(confirmed_within);
    confirmer_.async_wait([self = shared_from_this()](error_code error) {
        self->confirms_ = false;
        if (!error) self->confirm();
    });
}

void Relay::confirm() {
    if (!link_ || confirmed_ == received_) return;
    confirmed_ = received_;
    link_->send(JoinKind::confirm, encode_confirm(received_));
}

// ---- The end.

void Relay::check_over() {
    if (over_ || !in_ended_ || !peer_ended_ || !queued_.empty()) return;
    if (const auto tell = callbacks_.over) tell();
}

void Relay::leave(const std::string& reason) {
    if (const auto link = std::exchange(link_, nullptr)) {
        if (!reason.empty()) {
            if (!in_ended_) link->send(JoinKind::end, last_words_);
            link->send(JoinKind::refused, reason);
        }
        link->close_when_sent();
    }
    close();
}

void Relay::close() {
    over_ = true;
    callbacks_ = {};
    error_code ignored;
    confirmer_.cancel(ignored);
    in_.close(ignored);
    out_.close(ignored);
    if (const auto link = std::exchange(link_, nullptr)) link->close();
}

}  // namespace hpo::cluster
