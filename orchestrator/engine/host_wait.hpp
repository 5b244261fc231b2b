// The wait for the hosts without which a session does not begin.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/result.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/devices/session_registry.hpp"
#include "orchestrator/engine/session_machine.hpp"

namespace hpo {

struct HostWait {
    std::function<void(const DeviceNotice&)> tell;
    /// Shows other sessions the hosts, once a second, and the names of the awaited ones.
    std::function<void(std::vector<DeviceReservation>, const std::string& awaited)> publish;
    std::function<bool()> ended;  ///< returns true once the session ends
};

/// Runs the loop until the machine can begin, so that signals and `hpo stop` are heeded meanwhile. Returns the names of
/// the hosts that are still awaited, if the session ends before; empty: the machine can begin. Throws Fatal with exit
/// status 2 if no host is left.
std::string wait_for_hosts(boost::asio::io_context& loop, const Clock& clock, SessionMachine& machine,
                           const HostWait& wait);

}  // namespace hpo
