// The server of HTTP: threads, limits and events around a Site.
#pragma once

#include <memory>
#include <string>

#include "hpo/result.hpp"
#include "orchestrator/serve/connection.hpp"
#include "orchestrator/serve/site.hpp"

namespace hpo::serve {

class Server {
   public:
    static constexpr std::size_t most_connections = 320;  ///< at once; each has a thread
    static constexpr std::size_t most_listeners = 240;    ///< of these, connections that receive events

    /// `tls` is null without TLS. `site` must outlive the server.
    Server(Site& site, Tls tls);
    /// Ends all connections at once.
    ~Server();

    /// Listens at an address of this machine; `port` 0 takes a free one. Returns the port. The Error has the cure.
    Result<int> listen(const std::string& address, int port);
    /// Begins to answer, in other threads.
    void start();

   private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace hpo::serve
