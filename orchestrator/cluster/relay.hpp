// Carries an agent's standard input or output over connections that may break: from a descriptor of this process to the
// other end, and from there to another descriptor. The orchestrator has one relay for each agent that has joined, and
// the agent has one.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/descriptor.hpp"
#include "orchestrator/cluster/replay_window.hpp"
#include "orchestrator/cluster/tls_link.hpp"

namespace hpo::cluster {

class Relay : public std::enable_shared_from_this<Relay> {
   public:
    struct Callbacks {
        /// The connection has ended; attach() continues over another one. `refused`: the other end wants none.
        std::function<void(TlsLink::End end, const std::string& why)> broken;
        /// Called with the last words of the other end, from which no further bytes come.
        std::function<void(std::string_view words)> peer_ended = {};
        std::function<void()> in_ended;  ///< no further bytes come from this process's descriptor
        std::function<void()> out_gone;  ///< this process's other descriptor has no reader any more
        std::function<void()> over;      ///< all bytes of both directions have been passed on
    };

    Relay(boost::asio::io_context& loop, Descriptor in, Descriptor out);

    void start(Callbacks callbacks);
    /// Continues over this connection, at whose other end `received` bytes have arrived. Returns false if the other end
    /// cannot have received that number, or if the bytes after them are not kept any more.
    bool attach(std::shared_ptr<TlsLink> link, std::uint64_t received);
    /// Sets the message to the other end after the last bytes.
    void set_last_words(std::string words) { last_words_ = std::move(words); }
    /// Returns the number of bytes that have arrived from the other end.
    [[nodiscard]] std::uint64_t received() const { return received_; }
    [[nodiscard]] bool is_attached() const { return link_ != nullptr; }
    /// Ends the connection after all that was sent and the last words. A reason tells the other end that none may
    /// follow.
    void leave(const std::string& reason);
    /// Closes everything. No callback follows.
    void close();

   private:
    void take(JoinKind kind, std::string_view payload);
    void read_in();
    void write_out();
    void watch_out();
    void confirm_soon();
    void confirm();
    void refuse(const std::string& why);
    void check_over();

    Callbacks callbacks_;
    boost::asio::posix::stream_descriptor in_, out_;
    boost::asio::steady_timer confirmer_;
    std::shared_ptr<TlsLink> link_;
    ReplayWindow sent_;
    std::uint64_t received_ = 0, confirmed_ = 0;
    std::string queued_, last_words_;
    bool reading_ = false, writing_ = false, confirms_ = false;
    bool in_ended_ = false, peer_ended_ = false, over_ = false;
};

}  // namespace hpo::cluster
