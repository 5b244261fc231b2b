// An end of a TLS connection between an orchestrator and an agent that joins it: frames in both directions, after an
// opening that names the version.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "orchestrator/cluster/join_messages.hpp"
#include "orchestrator/cluster/stream.hpp"
#include "orchestrator/cluster/tls.hpp"

namespace hpo::cluster {

class TlsLink : public std::enable_shared_from_this<TlsLink> {
   public:
    enum class End {
        broken,     ///< the network or the other process; it may work over another connection
        refused,    ///< another version, or another program: its bytes are no frames
        other_key,  ///< refused, since the two ends have different keys
    };
    struct Callbacks {
        std::function<void()> open = {};  ///< both ends have the key
        std::function<void(JoinKind kind, std::string_view payload)> frame;
        std::function<void(End end, const std::string& why)> ended;  ///< called once; no call follows
    };

    TlsLink(boost::asio::ip::tcp::socket socket, std::shared_ptr<boost::asio::ssl::context> tls);

    /// Replaces the callbacks. May be called within a callback.
    void tell(Callbacks callbacks) { callbacks_ = std::make_shared<const Callbacks>(std::move(callbacks)); }
    void start(TlsRole role);
    void send(JoinKind kind, std::string_view payload);
    /// While `paused`, no further bytes are read.
    void pause(bool paused);
    /// Ends the connection. No callback follows.
    void close();
    /// Does so once all frames are sent, which the other end has some seconds for.
    void close_when_sent();

    /// Address and port of the other end.
    [[nodiscard]] const std::string& peer() const { return peer_; }

   private:
    void read();
    void write();
    void end(End end, const std::string& why);
    [[nodiscard]] bool has_another_version() const;

    std::shared_ptr<boost::asio::ssl::context> tls_;
    boost::asio::ssl::stream<boost::asio::ip::tcp::socket> stream_;
    std::shared_ptr<const Callbacks> callbacks_;
    StreamReader reader_;
    std::string peer_, buffer_, queued_, writing_;
    bool open_ = false, reading_ = false, paused_ = false, ending_ = false, closed_ = false;
};

/// Sets the options of both ends of a connection: no delays, and an error some seconds after the network was cut.
void prepare(boost::asio::ip::tcp::socket& socket);

}  // namespace hpo::cluster
