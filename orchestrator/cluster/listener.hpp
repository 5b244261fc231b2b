// Listens for agents that join a study. A separate thread answers connections, so that no handshake, and no flood of
// handshakes, delays the session. A connection that does not show the study's key within some seconds is closed; only a
// few connections without the key are open at once. For the session, an agent that has joined is a pair of pipes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hpo/descriptor.hpp"
#include "hpo/result.hpp"
#include "orchestrator/cluster/join_messages.hpp"
#include "orchestrator/cluster/listen_at.hpp"

namespace hpo::cluster {

class Listener {
   public:
    /// Connections that have not shown the key yet: a further one replaces the oldest.
    static constexpr std::size_t most_unknown = 64;
    static constexpr std::chrono::seconds known_within{10};
    /// Agents at once.
    static constexpr std::size_t most_agents = 1024;

    struct Joined {
        std::string host;  ///< as the agent calls it
        std::string from;  ///< its address
        Descriptor orders, events;
    };
    /// Called from the thread.
    struct Callbacks {
        std::function<void(Joined)> joined;
        std::function<void(const std::string& text)> refused;  ///< a connection; at most once a minute
    };

    /// Listens at once with a fresh key, and answers from start() on.
    static Result<std::unique_ptr<Listener>> open(const ListenAt& at);
    /// Fails where no thread can be made.
    Result<void> start(Callbacks callbacks);
    /// Closes all connections.
    ~Listener();

    /// Agents that have joined are told so once the session closes their pipes. Call it before.
    void say_farewell(const Farewell& farewell);

    [[nodiscard]] std::uint16_t port() const;
    /// Returns the key as JoinFile has it.
    [[nodiscard]] const std::string& key() const;
    /// Returns the addresses under which other hosts may reach this one, that of this host alone last.
    [[nodiscard]] std::vector<std::string> addresses() const;
    /// Returns true for an address that no other host can reach.
    [[nodiscard]] bool reaches_this_host_alone() const;

   private:
    struct Parts;
    explicit Listener(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace hpo::cluster
