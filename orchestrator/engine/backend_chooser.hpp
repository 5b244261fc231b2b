// Chooses the host or an accelerator for each queued trial, if the session may use both: the one on which the trial is
// predicted to end first, given the running trials and those queued before it.
#pragma once

#include <cstdint>
#include <span>

#include "orchestrator/calibration/backend_choice.hpp"
#include "orchestrator/engine/context.hpp"
#include "orchestrator/engine/requirements.hpp"
#include "orchestrator/engine/step_forecasts.hpp"
#include "orchestrator/engine/worker_pool.hpp"

namespace hpo {

class BackendChooser {
   public:
    /// All references outlive the chooser.
    BackendChooser(const EngineContext& context, const WorkerPool& pool, RequirementsTable& requirements,
                   const StepForecasts& forecasts)
        : context_(context), pool_(pool), requirements_(requirements), forecasts_(forecasts) {}

    /// Chooses for the trials in `waiting`, in this order. A trial without a worker's answer keeps its side, unless it
    /// cannot run there. Without a calibration of both sides, trials compute on accelerators.
    void choose(std::span<const std::int64_t> waiting, const Machine& machine);

   private:
    [[nodiscard]] ComputeLoad load(const Machine& machine) const;
    [[nodiscard]] double seconds_left(const Job& job) const;
    void choose(std::int64_t trial, ComputeLoad& load);
    [[nodiscard]] std::string text_of(const BackendChoice& choice) const;

    const EngineContext& context_;
    const WorkerPool& pool_;
    RequirementsTable& requirements_;
    const StepForecasts& forecasts_;
};

}  // namespace hpo
