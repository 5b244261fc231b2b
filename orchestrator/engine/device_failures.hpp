// What follows when devices are lost, come back, or fail: for their workers, and for the session.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "orchestrator/engine/context.hpp"
#include "orchestrator/engine/device_health.hpp"
#include "orchestrator/engine/launch_failures.hpp"
#include "orchestrator/engine/machine_view.hpp"
#include "orchestrator/engine/worker_pool.hpp"

namespace hpo {

class DeviceFailures {
   public:
    /// All references outlive it.
    DeviceFailures(EngineContext& context, WorkerPool& pool, DeviceHealth& health, const MachineView& machine,
                   LaunchFailures& launches)
        : context_(context), pool_(pool), health_(health), machine_(machine), launches_(launches) {}

    /// About once a second. Workers on a lost device are ended, their trials queued again without blame; without any
    /// device left the session ends.
    void set_lost_aside();
    /// The devices failed under these trials. Of several, any may be the cause, so that each may be given up. True:
    /// one is, and the trials are not to blame.
    bool failed_under(std::span<const int> devices, std::span<const std::int64_t> trials, const std::string& reason);
    /// A worker on the device ended before its hello.
    void start_failed(int device, const std::string& message);

   private:
    void give_up(int device, const std::string& why);

    EngineContext& context_;
    WorkerPool& pool_;
    DeviceHealth& health_;
    const MachineView& machine_;
    LaunchFailures& launches_;
};

}  // namespace hpo
