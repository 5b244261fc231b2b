#include "orchestrator/serve/connection.hpp"

#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace hpo::serve {

namespace {

std::string tls_problem() {
    char text[256];
    const auto code = ::ERR_get_error();
    if (ERR_GET_LIB(code) == ERR_LIB_SYS) return std::strerror(ERR_GET_REASON(code));
    ::ERR_error_string_n(code, text, sizeof text);
    ::ERR_clear_error();
    return text;
}

}  // namespace

Result<Tls> load_tls(const std::string& certificate, const std::string& key) {
    Tls tls(::SSL_CTX_new(::TLS_server_method()), ::SSL_CTX_free);
    if (!tls) return Error{"no TLS: " + tls_problem()};
    ::SSL_CTX_set_min_proto_version(tls.get(), TLS1_2_VERSION);
    ::SSL_CTX_set_mode(tls.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (::SSL_CTX_use_certificate_chain_file(tls.get(), certificate.c_str()) != 1)
        return Error{"--tls-cert " + certificate + ": no certificate in PEM: " + tls_problem()};
    if (::SSL_CTX_use_PrivateKey_file(tls.get(), key.c_str(), SSL_FILETYPE_PEM) != 1)
        return Error{"--tls-key " + key + ": no key in PEM of this certificate: " + tls_problem()};
    return tls;
}

Connection::Connection(int socket, SSL_CTX* tls)
    : socket_(socket), tls_(tls != nullptr ? ::SSL_new(tls) : nullptr, ::SSL_free) {
    ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
    ::fcntl(socket, F_SETFD, FD_CLOEXEC);
    if (tls_) ::SSL_set_fd(tls_.get(), socket);
}

bool Connection::wait(short events, Clock::time_point deadline) const {
    for (;;) {
        // Bytes that came in time are read even if this process had no time until now.
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd ready{socket_.get(), events, 0};
        const int found = ::poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
        if (found > 0) return true;
        if (left <= 0 || (found < 0 && errno != EINTR)) return false;
    }
}

template <class Act>
int Connection::persist(Act act, Clock::time_point deadline) const {
    for (;;) {
        const int done = act();
        if (done > 0) return done;
        const int error = ::SSL_get_error(tls_.get(), done);
        ::ERR_clear_error();
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return 0;
        if (!wait(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, deadline)) return 0;
    }
}

bool Connection::shake_hands() {
    if (!tls_ || shaken_) return true;
    shaken_ = persist([&] { return ::SSL_accept(tls_.get()); }, Clock::now() + request_time) > 0;
    return shaken_;
}

bool Connection::next_request() {
    if (cut_off_ || !shake_hands()) return false;
    const bool pending = at_ < end_ || (tls_ && ::SSL_pending(tls_.get()) > 0);
    if (!pending && !wait(POLLIN, Clock::now() + keep_alive_time)) return false;
    left_ = most_request;
    deadline_ = Clock::now() + request_time;
    answered_by_ = Clock::now() + answer_time;
    return !closed();
}

std::ptrdiff_t Connection::receive(char* bytes, std::size_t size) {
    if (tls_) return persist([&] { return ::SSL_read(tls_.get(), bytes, static_cast<int>(size)); }, deadline_);
    while (wait(POLLIN, deadline_)) {
        const auto received = ::recv(socket_.get(), bytes, size, 0);
        if (received >= 0) return received;
        if (errno != EAGAIN && errno != EINTR) break;
    }
    return 0;
}

std::size_t Connection::read(char* bytes, std::size_t size) {
    if (left_ > 0 && at_ == end_) {
        at_ = 0;
        end_ = static_cast<std::size_t>(std::max<std::ptrdiff_t>(receive(buffer_.data(), buffer_.size()), 0));
    }
    const std::size_t count = std::min({size, end_ - at_, left_});
    std::memcpy(bytes, buffer_.data() + at_, count);
    at_ += count;
    left_ -= count;
    cut_off_ = count == 0;
    return count;
}

bool Connection::write(const char* bytes, std::size_t size) {
    constexpr std::size_t piece = 64 << 10;
    while (size > 0) {
        const auto deadline = std::min(Clock::now() + write_time, answered_by_);
        const std::size_t most = std::min(size, piece);
        std::ptrdiff_t written = 0;
        if (tls_) {
            written = persist([&] { return ::SSL_write(tls_.get(), bytes, static_cast<int>(most)); }, deadline);
        } else if (wait(POLLOUT, deadline)) {
            written = ::send(socket_.get(), bytes, most, MSG_NOSIGNAL);
            if (written < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        }
        if (written <= 0) return false;
        bytes += written;
        size -= static_cast<std::size_t>(written);
    }
    return true;
}

bool Connection::closed() const {
    char byte = 0;
    const auto peeked = ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return peeked == 0 || (peeked < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace hpo::serve
