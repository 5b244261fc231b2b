#include "orchestrator/cli/session_pools.hpp"

#include <algorithm>

#include "orchestrator/devices/session_registry.hpp"

namespace hpo {

void add_pools(view::Moment& moment, const std::string& study, std::int64_t pid) {
    const auto sessions = read_sessions();
    const auto session = std::find_if(sessions.begin(), sessions.end(), [&](const SessionReservations& registered) {
        return registered.pid == pid && registered.study == study;
    });
    if (session == sessions.end()) return;
    moment.waits = session->waits;
    int gpus = 0;
    for (const DeviceReservation& device : session->devices) {
        view::Pool pool;
        pool.name = device.device == "host" ? "host" : "gpu " + std::to_string(gpus++);
        pool.capacity = device.capacity;
        pool.others = device.others;
        pool.reserved = device.reserved;
        if (device.used > 0) pool.used = device.used;
        pool.trials = device.trials;
        moment.pools.push_back(std::move(pool));
    }
}

}  // namespace hpo
