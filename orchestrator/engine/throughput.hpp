// Limits the number of trials at once by their throughput: feeds a search for each device
// (scheduling/device_concurrency.hpp) with the events of workers, and applies its limits to placement.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "orchestrator/engine/context.hpp"
#include "orchestrator/engine/worker_pool.hpp"
#include "orchestrator/scheduling/device_concurrency.hpp"
#include "orchestrator/scheduling/placement.hpp"

namespace hpo {

class Throughput {
   public:
    /// All references outlive it. Without EngineParts::concurrency it measures and limits nothing.
    Throughput(EngineContext& context, const WorkerPool& pool, Placement& placement)
        : context_(context), pool_(pool), placement_(placement) {}

    /// Trials may have started or ended in workers.
    void observe();
    /// A trial has reported a step to its worker.
    void reported(WorkerIndex index, std::int64_t trial, std::int64_t step);

    /// A trial has reported its last step, or was told to end.
    void ending(WorkerIndex index, std::int64_t trial);

    /// Sets how many trials may start now. `most_slots`: the most slots of a worker that answers `plan`.
    void limit(PlacementLimits& limits, std::size_t most_slots) const;
    /// Returns true if the limits allow a further trial on some device.
    [[nodiscard]] bool allows_another() const;
    /// Returns the number of trials at once that the limits allow, or the number of workers if that is less.
    [[nodiscard]] std::int64_t at_once() const;

    /// Returns the numbers found by now, for the devices with a measurement.
    [[nodiscard]] std::vector<ConcurrencyFinding> findings() const;

   private:
    [[nodiscard]] std::int64_t left() const;
    DeviceConcurrency& on(int device, std::int64_t slots);
    [[nodiscard]] std::int64_t first_limit(int device) const;
    void note_change(int device, std::int64_t before);
    [[nodiscard]] std::optional<ThreadTime> thread_time(WorkerIndex worker) const;

    EngineContext& context_;
    const WorkerPool& pool_;
    Placement& placement_;  ///< has to decide again when the limits change
    std::map<int, DeviceConcurrency> devices_;
};

}  // namespace hpo
