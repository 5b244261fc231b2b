// The messages between the orchestrator and the agent of a host, over the agent's standard input and output. codec.hpp
// has their bytes. A slot is the number of a worker on its host; the orchestrator gives out the lowest that is free.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "orchestrator/devices/session_registry.hpp"
#include "orchestrator/execution/executor.hpp"
#include "orchestrator/scheduling/machine.hpp"

namespace hpo::cluster {

/// Seconds between two signs of life of the orchestrator. The agent sends a reading every second.
inline constexpr double heartbeat_every = 5;
/// The time without the orchestrator after which an agent ends its workers and itself.
inline constexpr double agent_waits = 25;
/// The time without the agent after which the orchestrator gives its workers up. It is longer than agent_waits, so that
/// no trial runs twice.
inline constexpr double orchestrator_waits = 30;
/// The time for which bytes sent to the other end of a joined agent's connection may stay unconfirmed before the
/// connection counts as broken. If the network carries one way only, the agent may hear the orchestrator for this long
/// after the orchestrator has last heard the agent, and must still have ended before the orchestrator gives it up.
inline constexpr double unconfirmed_within = 4;
static_assert(unconfirmed_within + agent_waits < orchestrator_waits);

namespace to_agent {

struct Setup {            ///< the first message
    std::string study;    ///< as YAML, complete
    std::string folder;   ///< of the study, absolute; the host must have it
    std::string current;  ///< the orchestrator's current folder, from which relative paths start where the host has it
    std::string tag;      ///< of the host's workers
    double alive_every = 5;
    int hosts = 1;  ///< of the session, that work or are about to
};
struct Heartbeat {};
struct Launch {
    int slot = 0;
    LaunchSpec spec;
};
struct Send {  ///< messages to a worker, one a line (wire.hpp)
    int slot = 0;
    std::string lines;
};
struct LogTo {
    int slot = 0;
    std::string file;
};
struct Terminate {
    int slot = 0;
    double grace = 0;
};
struct Kill {
    int slot = 0;
};
struct Holds {  ///< the session's reservations on the host, for other sessions there
    std::vector<DeviceReservation> devices;
    std::string waits;
};

}  // namespace to_agent

namespace from_agent {

/// The host as its agent has read it, with all its workers as ours.
struct Reading {
    struct Use {
        int slot = 0;
        std::int64_t host_bytes = 0, device_bytes = 0;
    };
    Machine::Host host;
    std::vector<Accelerator> accelerators;
    std::vector<bool> hidden;  ///< of each accelerator: its driver hides whose memory it is, so that `others` has all
    std::vector<Use> workers;
};
struct Hello {  ///< the answer to Setup
    std::string host;
    int workers = 1;         ///< at once
    bool on_device = false;  ///< trials compute on its accelerators
    Reading reading;
};
struct Refused {  ///< the answer to a Setup that cannot be followed; the agent exits
    std::string reason;
};
struct Happened {
    int slot = 0;
    execution::Event event;
};
struct Notice {
    bool warning = false;
    std::string text;
};
struct Goodbye {  ///< the last message of an agent that ends by itself
    std::string reason;
    bool own_fault = true;  ///< false: the connection was cut, or the host is asked for by others
};

}  // namespace from_agent

using ToAgent = std::variant<to_agent::Setup, to_agent::Heartbeat, to_agent::Launch, to_agent::Send, to_agent::LogTo,
                             to_agent::Terminate, to_agent::Kill, to_agent::Holds>;
using FromAgent = std::variant<from_agent::Hello, from_agent::Refused, from_agent::Reading, from_agent::Happened,
                               from_agent::Notice, from_agent::Goodbye>;

}  // namespace hpo::cluster
