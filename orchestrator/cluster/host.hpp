// A host of a session: its agent, its facts and its state.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/cluster/addresses.hpp"
#include "orchestrator/cluster/agent_link.hpp"
#include "orchestrator/cluster/messages.hpp"

namespace hpo::cluster {

using HostClock = std::chrono::steady_clock;

struct Host {
    /// `left`: an agent that had joined has ended; another one may join from that host.
    enum class State { starting, up, resting, aside, left };

    Address address;
    State state = State::starting;
    std::shared_ptr<AgentLink> link;
    from_agent::Hello hello;
    from_agent::Reading reading;
    std::optional<from_agent::Goodbye> goodbye;
    std::optional<int> first_device;  ///< among those of all hosts; nothing: it has not answered yet
    int failures = 0;
    std::string reason;  ///< of the last failure
    HostClock::time_point begun, heard;
    std::optional<HostClock::time_point> again_at;  ///< time at which a host that is set aside is tried again
    std::chrono::seconds pause{};                   ///< the last one before such a try
    bool tried_again = false;                       ///< it was set aside, is tried again and has not answered yet
    std::vector<DeviceReservation> told;            ///< the session's reservations that its agent knows
    HostClock::time_point told_at;
    struct Slot {
        std::optional<WorkerIndex> worker;
        std::vector<int> devices;
    };
    std::vector<Slot> slots;

    /// Returns true if its agent was not started by this process, but has joined.
    [[nodiscard]] bool joins() const { return address.command.empty(); }
    [[nodiscard]] int devices() const { return static_cast<int>(reading.accelerators.size()); }
    /// Returns true if the host has not answered yet, and may.
    [[nodiscard]] bool is_awaited() const { return !first_device && state != State::aside && state != State::left; }
    /// Returns true if no reading has come for a while.
    [[nodiscard]] bool is_silent(HostClock::time_point now) const;
    /// Returns its state, and the reason, for people and programs (DeviceReservation).
    [[nodiscard]] std::pair<std::string, std::string> state_text(HostClock::time_point now) const;
    /// Returns why its workers have ended with it.
    [[nodiscard]] std::string lost_text() const;
};

/// Returns true if hosts may come that trials wait for: some have not answered yet, or, with a `door` by which agents
/// join, none is up. Trials too large for the hosts that are there fail instead of waiting for one that may never join.
bool awaits_hosts(std::span<const Host> hosts, bool door);
/// Returns true if a host has answered and its agent is not lost. A silent one counts: it trains, and may answer again.
bool any_up(std::span<const Host> hosts);
/// Returns why the session cannot go on, as no host is left; empty if it can. With a `door` it goes on while an agent
/// that joined works, or if no host was given to it.
std::string why_no_host_is_left(std::span<const Host> hosts, bool door);

/// Returns how many workers may work at once. A host that is awaited counts like the largest that has answered.
/// `on_device`: on accelerators alone.
int workers_of(std::span<const Host> hosts, bool on_device);
/// Returns how many hosts work or are about to: neither set aside nor left.
int count_present(std::span<const Host> hosts);

/// Returns true if `since` is longer than this number of seconds.
bool is_over(HostClock::duration since, double seconds);

}  // namespace hpo::cluster
