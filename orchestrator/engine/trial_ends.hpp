// Ends trials or queues them again, with the consequences for the session.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "orchestrator/engine/context.hpp"
#include "orchestrator/engine/requirements.hpp"
#include "orchestrator/engine/trial_failures.hpp"
#include "orchestrator/engine/worker_pool.hpp"

namespace hpo {

/// Returns the steps from one report to the next in a trial: the largest gap between its stored steps, or where it has
/// fewer than two, in the latest other trial that has reported. 0: none has.
std::int64_t stride_of(const std::deque<TrialRecord>& trials, const TrialRecord& trial);

class TrialEnds {
   public:
    /// All references outlive the object.
    TrialEnds(EngineContext& context, const WorkerPool& pool, RequirementsTable& requirements)
        : context_(context), pool_(pool), requirements_(requirements) {}

    /// Ends a trial as `state`, in the store and for all listeners.
    void finish(std::int64_t trial, TrialState state, const std::string& rule, const std::string& reason);
    /// Ends a trial as complete, with metrics that came with its end.
    void complete(std::int64_t trial, const Metrics& values);
    /// Ends a trial as failed. `cause`: see TrialFailures.
    void fail(std::int64_t trial, const std::string& reason, const std::string& cause = {});
    /// Takes in that the ledger ended the trial as failed when it judged a step. The trial is announced once its worker
    /// has released it.
    void failed_as_judged(std::int64_t trial);
    /// Charges an attempt with the end of its worker: queues the trial again, or ends it as failed.
    void charge(AttemptId id, const std::string& reason);
    /// Takes in a trial that ended well without a value of the objective, for the worker's `reason`. The trial fails if
    /// another one has a value. Otherwise the study is wrong: the session ends at once, so that no further trial is
    /// trained in vain, and the trial is queued again without blame, unless it had this end before.
    void ended_without_value(std::int64_t trial, std::string reason);
    /// Returns the reason why the value of an attempt that ends well would be that of an earlier step: it went on from
    /// a checkpoint of a step that is not stored, and reported none after it. Empty: there is no such reason.
    [[nodiscard]] std::string missing_steps(const Job& job) const;
    /// Queues a running trial (by the store) again, without blame.
    void requeue_without_blame(std::int64_t trial, const std::string& reason);
    /// Announces a trial that has ended in the ledger and that no worker holds any more. Does nothing if it has not
    /// ended.
    void announce(std::int64_t trial);
    /// Takes in a trial's step.
    void reported(std::int64_t step) { failures_.reported(step); }

   private:
    void count_failure(std::int64_t trial, const std::string& reason, const std::string& cause);

    EngineContext& context_;
    const WorkerPool& pool_;
    RequirementsTable& requirements_;
    TrialFailures failures_;
};

}  // namespace hpo
