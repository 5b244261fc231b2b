#include "orchestrator/observers/session_pools.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "orchestrator/devices/session_registry.hpp"

namespace hpo {

void add_pools(view::Moment& moment, const std::string& study, std::int64_t pid) {
    const auto sessions = read_sessions();
    const auto session = std::find_if(sessions.begin(), sessions.end(), [&](const SessionReservations& registered) {
        return registered.pid == pid && registered.study == study;
    });
    if (session == sessions.end()) return;
    moment.waits = session->waits;
    moment.ends = session->ends;
    std::map<std::string, int> gpus;  // by machine
    for (const DeviceReservation& device : session->devices) {
        view::Pool pool;
        const auto slash = device.device.find('/');
        const std::string machine = slash == std::string::npos ? "" : device.device.substr(0, slash);
        const bool is_host = device.device.substr(machine.empty() ? 0 : slash + 1) == "host";
        if (is_host)
            pool.name = machine.empty() ? "host" : machine;
        else
            pool.name = (machine.empty() ? "" : machine + " ") + "gpu " + std::to_string(gpus[machine]++);
        pool.capacity = device.capacity;
        pool.others = device.others;
        pool.reserved = device.reserved;
        if (device.used > 0) pool.used = device.used;
        pool.trials = device.trials;
        pool.state = device.state;
        pool.reason = device.reason;
        pool.usable = device.state.empty() || device.state == "up";
        moment.pools.push_back(std::move(pool));
    }
}

}  // namespace hpo
