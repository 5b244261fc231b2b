// The machine as this session may use it at a moment: as it is read, without the devices that the session has given up.
#pragma once

#include <optional>
#include <string>

#include "orchestrator/engine/context.hpp"
#include "orchestrator/engine/device_health.hpp"
#include "orchestrator/engine/worker_pool.hpp"

namespace hpo {

class MachineView {
   public:
    /// All references outlive it.
    MachineView(const EngineContext& context, const WorkerPool& pool, const DeviceHealth& health)
        : context_(context), pool_(pool), health_(health) {}

    /// Returns the capacity for trials. The memory of one idle worker is free for the trial that it would take; that of
    /// further ones is in use until they take one or leave. Devices that cool down are set aside.
    [[nodiscard]] Machine for_trials() const;
    /// Returns the machine of for_trials() if it never changes; else nullptr.
    [[nodiscard]] const Machine* unchanging() const {
        return health_.untroubled() ? context_.parts.fixed_machine : nullptr;
    }
    /// Returns the devices and their usability, without regard to the workers.
    [[nodiscard]] Machine devices() const;
    /// Returns the device on which a worker that is to plan is started; nothing: none is usable.
    [[nodiscard]] std::optional<int> usable_device() const;

    [[nodiscard]] std::string id_of(int device) const;
    [[nodiscard]] bool is_unified(int device) const;
    /// Name of a place's host; empty where the session has one host.
    [[nodiscard]] std::string host_name_of(int place) const;

   private:
    /// Calls `use` with the device of the machine as it is read, or as it always is.
    template <class Use>
    auto with_device(int device, Use&& use) const {
        const auto at = static_cast<std::size_t>(device);
        if (const Machine* fixed = context_.parts.fixed_machine) return use(fixed->accelerators.at(at));
        return use(context_.parts.machine({}, {}).accelerators.at(at));
    }

    const EngineContext& context_;
    const WorkerPool& pool_;
    const DeviceHealth& health_;
};

}  // namespace hpo
