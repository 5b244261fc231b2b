// How trials end, or are tried again, and what follows for the session.
#pragma once

#include <cstdint>
#include <string>

#include "orchestrator/engine/context.hpp"
#include "orchestrator/engine/requirements.hpp"
#include "orchestrator/engine/trial_failures.hpp"
#include "orchestrator/engine/worker_pool.hpp"

namespace hpo {

class TrialEnds {
   public:
    /// All references outlive it.
    TrialEnds(EngineContext& context, const WorkerPool& pool, RequirementsTable& requirements)
        : context_(context), pool_(pool), requirements_(requirements) {}

    /// Ended as `state`, in the store and for everybody.
    void finish(std::int64_t trial, TrialState state, const std::string& rule, const std::string& reason);
    /// As complete, with a value that only its end has told.
    void complete(std::int64_t trial, const Metrics& values);
    /// As failed. `cause`: see TrialFailures.
    void fail(std::int64_t trial, const std::string& reason, const std::string& cause = {});
    /// The ledger has ended the trial as failed when it judged a step. The trial is announced once its worker has let
    /// it go.
    void failed_as_judged(std::int64_t trial);
    /// The attempt is charged with its worker's end: the trial is tried again, or has failed.
    void charge(AttemptId id, const std::string& reason);
    /// The trial ended well and has no value of the objective. `reason` tells why, as far as its worker knows. The
    /// trial has failed if another one has a value. Otherwise the study is wrong, not the trial: the session ends at
    /// once, so that no further trial is trained in vain, and the trial is queued again without blame, unless it had
    /// this end before.
    void ended_without_value(std::int64_t trial, std::string reason);
    /// A trial that runs, in the store, is queued again and nobody is blamed.
    void requeue_without_blame(std::int64_t trial, const std::string& reason);
    /// The trial has ended in the ledger, and no worker holds it any more. Does nothing where it has not ended.
    void announce(std::int64_t trial);
    /// It took a step.
    void reported(std::int64_t step) { failures_.reported(step); }

   private:
    void count_failure(std::int64_t trial, const std::string& reason, const std::string& cause);

    EngineContext& context_;
    const WorkerPool& pool_;
    RequirementsTable& requirements_;
    TrialFailures failures_;
};

}  // namespace hpo
