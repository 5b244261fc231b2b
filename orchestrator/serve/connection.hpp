// A client's connection with limits: how much of a request is read, and how long a client may take. With TLS or
// without.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "hpo/descriptor.hpp"
#include "hpo/result.hpp"

namespace hpo::serve {

/// The certificate and key that a server shows; nothing without TLS.
using Tls = std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)>;

/// Reads both from files in PEM. The Error names the file and the problem.
Result<Tls> load_tls(const std::string& certificate, const std::string& key);

class Connection {
   public:
    static constexpr std::size_t most_request = 16 << 10;      ///< bytes of a request
    static constexpr std::chrono::seconds request_time{10};    ///< for a whole request, and for the handshake of TLS
    static constexpr std::chrono::seconds write_time{10};      ///< for each piece that is written
    static constexpr std::chrono::seconds answer_time{120};    ///< for a whole answer
    static constexpr std::chrono::seconds keep_alive_time{3};  ///< between requests

    /// Takes the socket. `tls` is null without TLS.
    Connection(int socket, SSL_CTX* tls);

    /// Waits for the next request, and begins its limits. False: the client sends none, or has no TLS, or its last
    /// request was cut off.
    bool next_request();
    /// Returns how many bytes it read; 0: the connection or the patience has ended, or the request is too long.
    std::size_t read(char* bytes, std::size_t size);
    /// Writes all, or returns false.
    bool write(const char* bytes, std::size_t size);
    /// The answer goes on as long as the client reads it.
    void without_end() { answered_by_ = Clock::time_point::max(); }
    /// Returns true if the client has closed the connection.
    [[nodiscard]] bool closed() const;
    [[nodiscard]] int socket() const { return socket_.get(); }

   private:
    using Clock = std::chrono::steady_clock;
    bool shake_hands();
    /// Waits until the socket is ready for `events` of poll.
    [[nodiscard]] bool wait(short events, Clock::time_point deadline) const;
    /// Calls `act` of OpenSSL until it neither has to read nor to write first.
    template <class Act>
    int persist(Act act, Clock::time_point deadline) const;
    std::ptrdiff_t receive(char* bytes, std::size_t size);

    Descriptor socket_;
    std::unique_ptr<SSL, void (*)(SSL*)> tls_;
    bool shaken_ = false;
    bool cut_off_ = false;  ///< a request was not read to its end
    std::array<char, 4096> buffer_;
    std::size_t at_ = 0, end_ = 0;  ///< of the received, unread bytes
    std::size_t left_ = 0;          ///< bytes of this request
    Clock::time_point deadline_{}, answered_by_{};
};

}  // namespace hpo::serve
