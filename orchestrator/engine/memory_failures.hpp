// Retries trials whose attempt ran out of memory. No attempt is repeated unchanged, and a trial fails only when nothing
// is left to try.
#pragma once

#include <cstdint>
#include <string>

#include "orchestrator/engine/context.hpp"
#include "orchestrator/engine/machine_view.hpp"
#include "orchestrator/engine/pending_diagnoses.hpp"
#include "orchestrator/engine/requirements.hpp"
#include "orchestrator/engine/trial_ends.hpp"

namespace hpo {

class MemoryFailures {
   public:
    /// All references outlive the object.
    MemoryFailures(EngineContext& context, const MachineView& machine, RequirementsTable& requirements, TrialEnds& ends,
                   PendingDiagnoses& diagnoses)
        : context_(context), machine_(machine), requirements_(requirements), ends_(ends), diagnoses_(diagnoses) {}

    /// Queues the trial again, without blame. The host's memory is read at once. A device's memory is diagnosed after
    /// its next reading, since an older one would blame the trial for memory that another program has just taken.
    void ran_out(const Job& job, const std::string& message, bool device_memory);
    /// Queues a trial that ran out of memory in a worker with others again, for a worker of its own, where its
    /// footprint is exact.
    void ran_out_among_others(std::int64_t trial, const std::string& message);
    /// Decides how the trial continues, once the memory of other programs (`others`) is known: with a larger
    /// reservation, alone, or in smaller micro-batches.
    void go_on(const Job& job, const std::string& message, bool device_memory, const Footprint& others);

   private:
    EngineContext& context_;
    const MachineView& machine_;
    RequirementsTable& requirements_;
    TrialEnds& ends_;
    PendingDiagnoses& diagnoses_;
};

}  // namespace hpo
