// Tells native workers on the host which cores to compute on, as trials begin and end.
#pragma once

#include <optional>
#include <vector>

#include "orchestrator/engine/context.hpp"
#include "orchestrator/engine/trial_starts.hpp"
#include "orchestrator/engine/worker_pool.hpp"

namespace hpo {

class CoreSharing {
   public:
    /// All references outlive it. Without EngineParts::cores, or where trials compute on devices, it does nothing.
    CoreSharing(EngineContext& context, WorkerPool& pool, const TrialStarts& starts)
        : context_(context), pool_(pool), starts_(starts) {}

    /// Trials may have begun or ended in workers, or some time has passed.
    void update();

   private:
    void tell(WorkerIndex index, const std::vector<int>& cores);

    EngineContext& context_;
    WorkerPool& pool_;
    const TrialStarts& starts_;
    bool told_of_first_ = false;
    std::vector<std::optional<Seconds>> free_since_;  ///< by worker; none: it has a trial, or is being started
};

}  // namespace hpo
