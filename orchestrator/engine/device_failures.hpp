// Consequences for workers and the session when devices are lost, come back, or fail.
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
    /// All references outlive the object.
    DeviceFailures(EngineContext& context, WorkerPool& pool, DeviceHealth& health, const MachineView& machine,
                   LaunchFailures& launches)
        : context_(context), pool_(pool), health_(health), machine_(machine), launches_(launches) {}

    /// Ends workers on lost devices and queues their trials again without blame. Ends the session if no device is left.
    /// Call it about once a second.
    void set_lost_aside();
    /// Takes in that devices failed while they ran these trials. Any of several devices may be the cause, so that each
    /// may be given up. Returns true if one was given up, so that the trials are not to blame.
    bool failed_under(std::span<const int> devices, std::span<const std::int64_t> trials, const std::string& reason);
    /// Takes in that a worker on the device exited before its hello.
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
