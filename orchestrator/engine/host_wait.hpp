// The wait for the hosts without which a session does not begin.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>
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
    /// Shows other sessions the hosts, once a second, and the names of those that are awaited.
    std::function<void(std::vector<DeviceReservation>, const std::string& awaited)> publish;
    /// Returns why the session ends and its exit status, once it does.
    std::function<std::optional<Fatal>()> ended;
};

/// Runs the loop until the machine can begin, so that signals and `hpo stop` are heeded meanwhile. Throws Fatal if they
/// end the session, or if no host is left.
void wait_for_hosts(boost::asio::io_context& loop, const Clock& clock, SessionMachine& machine, const HostWait& wait);

}  // namespace hpo
