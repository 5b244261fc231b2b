// What follows for a trial whose attempt ran out of memory: never the same again, and it fails only when nothing is
// left to try.
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
    /// All references outlive it.
    MemoryFailures(EngineContext& context, const MachineView& machine, RequirementsTable& requirements, TrialEnds& ends,
                   PendingDiagnoses& diagnoses)
        : context_(context), machine_(machine), requirements_(requirements), ends_(ends), diagnoses_(diagnoses) {}

    /// Not the trial's fault: queued again. What the host has is read at once, what a device has is known in a moment:
    /// a verdict by readings from before its end would blame the trial for what another program has just taken.
    void ran_out(const Job& job, const std::string& message, bool device_memory);
    /// In a worker with others: next in one of its own, where what it needs is known to the byte.
    void ran_out_among_others(std::int64_t trial, const std::string& message);
    /// Once it is known what `others` used: the trial goes on with more memory, alone, or in smaller micro-batches.
    void go_on(const Job& job, const std::string& message, bool device_memory, const Footprint& others);

   private:
    EngineContext& context_;
    const MachineView& machine_;
    RequirementsTable& requirements_;
    TrialEnds& ends_;
    PendingDiagnoses& diagnoses_;
};

}  // namespace hpo
