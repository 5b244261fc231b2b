// Assigns cores to native workers on the host, as trials begin and end.
#pragma once

#include <optional>
#include <vector>

#include "orchestrator/engine/context.hpp"
#include "orchestrator/engine/trial_starts.hpp"
#include "orchestrator/engine/worker_pool.hpp"

namespace hpo {

class CoreSharing {
   public:
    /// All references outlive the object. Does nothing without EngineParts::cores, or if trials compute on devices.
    CoreSharing(EngineContext& context, WorkerPool& pool, const TrialStarts& starts)
        : context_(context), pool_(pool), starts_(starts) {}

    /// Assigns the cores again. Call it after trials began or ended, and from time to time.
    void update();

   private:
    void tell(WorkerIndex index, const std::vector<int>& cores);

    EngineContext& context_;
    WorkerPool& pool_;
    const TrialStarts& starts_;
    bool told_of_first_ = false;
    std::vector<std::optional<Seconds>> free_since_;  ///< by worker; empty: it has a trial, or is starting
};

}  // namespace hpo
