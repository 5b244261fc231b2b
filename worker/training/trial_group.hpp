// Trials with the same fusion key train side by side, each as one replica of a trainer. A single trial is the usual
// case on a CPU. Trials join and end whenever a trial completes a step; the others do not notice, even in the middle of
// a step.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/training/pressure.hpp"
#include "worker/training/trial.hpp"

namespace hpo {

/// Every failure becomes an outcome, failed or out_of_memory, with a message. Throws only exceptions of the hosts, and
/// DeviceLost.
class TrialGroup {
   public:
    using Ended = std::function<void(const from_worker::Finished&)>;

    /// Calls `ended` once for every trial that was added. `context` must outlive the group.
    TrialGroup(WorkerContext& context, Ended ended);

    [[nodiscard]] bool empty() const { return trials_.empty(); }
    [[nodiscard]] int size() const { return static_cast<int>(trials_.size()); }
    /// Returns true if the trial has the group's fusion key, or the group is empty.
    [[nodiscard]] bool accepts(const to_worker::Run& run) const;

    /// Adds a trial, which trains from the next step on. Loads its data unless they are loaded, and reads its
    /// checkpoint.
    void add(const to_worker::Run& run, TrialHost& host);

    /// Trains all trials until at least one completes its step; evaluates those, reports them, and waits for and
    /// carries out the decisions on them.
    void step();

   private:
    using Member = std::unique_ptr<Trial>;

    template <class F>
    bool guarded(const AttemptId& id, TrialHost& host, F&& work);
    void step_of_all();
    void end_all(Outcome outcome, const std::string& message);
    void finish(TrialHost& host, const AttemptId& id, Outcome outcome, const std::string& message);
    void begin_group(const to_worker::Run& run, const Configuration& configuration, TrialHost& host);
    [[nodiscard]] GroupPlan plan_for(int replicas) const;
    [[nodiscard]] std::optional<Precision> kept_precision(const to_worker::Run& run, const Configuration& asked) const;
    [[nodiscard]] Configuration resolved_for_group(Configuration asked) const;
    [[nodiscard]] ShouldContinue continue_check(const char* phase);
    [[nodiscard]] bool has_ended(const AttemptId& id) const;
    void remove_ended();
    void assign_replicas();
    void enter_trainer();
    void abandon_ranks();
    bool move_within_device();
    void lay_out();
    void make_trainer();
    void adapt_micro_batch();

    WorkerContext& context_;
    Ended on_end_;
    std::string fusion_key_;                      ///< empty: none yet
    std::optional<Configuration> configuration_;  ///< configuration of the arena's layout (see layout_configuration)
    std::unique_ptr<Trainer> trainer_;
    std::optional<MemoryPressure> pressure_;  ///< none: micro-batches stay as configured
    std::vector<Member> trials_;              ///< in the order in which they were added
    std::vector<AttemptId> ended_in_step_;    ///< their replicas are removed when the step ends
};

/// Trains one trial alone, from its start to its end.
from_worker::Finished run_trial(const to_worker::Run& run, WorkerContext& context, TrialHost& host);

}  // namespace hpo
