#include "orchestrator/engine/host_wait.hpp"

#include <chrono>

#include "hpo/doing.hpp"

namespace hpo {

std::string wait_for_hosts(boost::asio::io_context& loop, const Clock& clock, SessionMachine& machine,
                           const HostWait& wait) {
    using namespace std::chrono_literals;
    const Doing doing("waits for hosts to answer");
    for (auto shown = clock.now() - 1s;;) {
        for (const DeviceNotice& notice : machine.poll(clock.now())) wait.tell(notice);
        if (const std::string gone = machine.gone(); !gone.empty()) throw Fatal(gone, 2);
        const std::string awaited = machine.waits_to_begin();
        if (awaited.empty() || wait.ended()) return awaited;
        if (const Seconds now = clock.now(); now - shown >= 1s) {
            shown = now;
            wait.publish(machine.to_publish(machine.read({}, {}, {}), {}), "for the agents of " + awaited);
        }
        loop.run_one_for(200ms);
    }
}

}  // namespace hpo
