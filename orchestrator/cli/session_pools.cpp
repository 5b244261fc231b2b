#include "orchestrator/cli/session_pools.hpp"

#include <algorithm>

#include "orchestrator/devices/board.hpp"

namespace hpo {

void add_pools(view::Moment& moment, const std::string& study, std::int64_t pid) {
    const auto sessions = read_board();
    const auto session = std::find_if(sessions.begin(), sessions.end(), [&](const SessionBookings& said) {
        return said.pid == pid && said.study == study;
    });
    if (session == sessions.end()) return;
    moment.waits = session->waits;
    int gpus = 0;
    for (const DeviceBooking& device : session->devices) {
        view::Pool pool;
        pool.name = device.device == "host" ? "host" : "gpu " + std::to_string(gpus++);
        pool.capacity = device.capacity;
        pool.others = device.others;
        pool.booked = device.booked;
        if (device.used > 0) pool.used = device.used;
        pool.trials = device.trials;
        moment.pools.push_back(std::move(pool));
    }
}

}  // namespace hpo
