// The known resource needs of a study's trials: answered by a worker, predicted from the measured memory of other
// trials, or learned when a trial ran out of memory. Reads no machine and starts nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/messages.hpp"
#include "hpo/study.hpp"
#include "orchestrator/calibration/step_time.hpp"
#include "orchestrator/engine/ledger.hpp"
#include "orchestrator/engine/worker_pool.hpp"
#include "orchestrator/scheduling/footprints.hpp"
#include "orchestrator/scheduling/placement.hpp"

namespace hpo {

/// The known requirements of an unfinished trial, and their reasons. A trial gets a worker of its own after a worker
/// died with several trials, or ran out of memory with them.
struct TrialRequirements : TrialNeeds {
    bool known = false;              ///< the needs are known; else they must be asked from a worker, or predicted
    std::int64_t micro_batches = 0;  ///< micro-batches per update; 0: as configured
    std::string shrunk;              ///< reason of smaller micro-batches, for one notice
    Footprint minimum{0, 0, 0};      ///< least reservation, after it ran out of memory
    std::int64_t ran_out_after = 0;  ///< furthest step of the attempts that ran out of memory
    bool lacked_on_device = false;   ///< it was the accelerator's memory; else the host's
    bool waited = false;             ///< has waited in vain for other programs to free that memory, and takes the rest
    Seconds lasted{0};               ///< duration of the last attempt
    bool must_run_alone = false;     ///< nothing may run beside it, after it ran out of memory
    std::optional<StepWork> work;    ///< work of a step, if a worker has answered

    // If trials may compute on the host and on accelerators:
    bool on_host = false;                             ///< computes on the host
    double step = 0;                                  ///< predicted seconds of a step there; 0: unknown
    std::string why;                                  ///< reason of the choice, for users
    bool not_on_host = false, not_on_device = false;  ///< cannot run on this side
    std::map<bool, from_worker::PlanAnswer> answers;  ///< answers of a worker on the host (true) and on an accelerator

    [[nodiscard]] bool runs_on_one_side() const { return not_on_host || not_on_device; }
};

/// An attempt that ran out of memory.
struct OutOfMemory {
    Allocation given;
    Footprint used{0, 0, 0};     ///< largest measured use
    bool device_memory = false;  ///< the device's memory ran out; else the host's
    Footprint others{0, 0, 0};   ///< memory of other programs
};

class RequirementsTable {
   public:
    /// All references outlive the table. It tells `placement` the needs of trials. `on_device`: each trial needs an
    /// accelerator.
    RequirementsTable(const Study& study, Ledger& ledger, Placement& placement, bool on_device);

    /// Returns true if workers are asked for the needs of a trial; else they are predicted.
    [[nodiscard]] bool asks_workers() const { return asks_; }
    /// Takes in the abilities of a worker. Returns true if it is the first that answers `plan`. Then all predicted
    /// needs are forgotten: call recall().
    bool learn_capabilities(const Worker& worker);

    /// Returns the requirements of a trial as far as they are known; empty for an ended trial.
    [[nodiscard]] const TrialRequirements& of(std::int64_t trial) const;
    /// Returns nullptr if nothing is known.
    [[nodiscard]] const TrialRequirements* find(std::int64_t trial) const;
    /// Returns nullptr if the needs are not known yet.
    [[nodiscard]] const TrialNeeds* known(std::int64_t trial) const;
    /// Returns the fixed parameters and the trial's own, in the worker's form.
    [[nodiscard]] Params configuration(std::int64_t trial) const;
    /// Returns true if the worker may recompute activations instead of using smaller micro-batches (`checkpointing:
    /// auto`).
    [[nodiscard]] bool may_recompute(std::int64_t trial) const;
    /// Removes an ended trial.
    void forget(std::int64_t trial);
    /// Returns the reason why the trial is not trained as configured, once; then empty.
    std::string take_shrunk(std::int64_t trial) { return std::exchange(change(trial).shrunk, {}); }
    /// Sets the duration of the trial's last attempt.
    void set_lasted(std::int64_t trial, Seconds lasted) { change(trial).lasted = lasted; }

    /// Takes in the answer of a worker on the host or on an accelerator. `unified`: the device's memory is the host's.
    void answered(const from_worker::PlanAnswer& answer, bool on_host, bool unified);
    /// Moves a trial to the host or to accelerators, if the study may use both. Its needs are known if a worker there
    /// has answered.
    void choose(std::int64_t trial, bool on_host, double step, const std::string& why);
    /// Moves a trial that cannot run on its side to the other one. Returns false if it cannot run there either.
    bool try_other_side(std::int64_t trial);
    /// Predicts the needs from measurements and the study's declarations.
    void predict(std::int64_t trial, const Machine& machine);
    /// Restores the results of earlier sessions: peaks, and the consequences of attempts that ran out of memory.
    void recall(const Machine& machine);

    /// Returns the new reservation of a job. The largest measured use (`used`) replaces the reservation after the
    /// trial's first step or, if it ran out of memory before, once it has got further than then.
    [[nodiscard]] Reservation record_usage(const Job& job, const Footprint& used);
    /// Stores a peak that has grown, for the next session and for the predictions of other trials. Predicts waiting
    /// trials (those not `assigned`) again.
    void keep_peak(const Job& job, const std::function<bool(std::int64_t trial)>& assigned);

    /// Changes the requirements after an attempt that ran out of memory. Returns the change as text, or an Error with
    /// the reason why nothing is left to try.
    Result<std::string> learn_from(std::int64_t trial, const OutOfMemory& death, const Machine& machine);
    /// Lets a trial that ran out of memory, and has waited too long for other programs to free its reservation, use the
    /// memory that they leave now. Returns false if they leave none of the kind that it lacked, or if the trial waits
    /// for another reason.
    bool settle_for_less(std::int64_t trial, const Machine& machine);
    /// Gives the next attempt a worker without other trials.
    void use_own_worker(std::int64_t trial);
    /// Lets nothing run beside the next attempt.
    void run_alone(std::int64_t trial);
    /// Divides the batch of a trial that does not even fit an empty machine into smaller micro-batches. Returns false
    /// if the worker cannot.
    bool shrink(std::int64_t trial, const std::string& why);

   private:
    TrialRequirements& change(std::int64_t trial);
    void tell(const TrialRequirements& needs);
    void use_answer(TrialRequirements& needs);
    void ask_again(TrialRequirements& needs);

    const Study& study_;
    Ledger& ledger_;
    Placement& placement_;
    bool on_device_;
    std::size_t devices_;  ///< accelerators per trial that does not compute on the host
    std::map<std::int64_t, TrialRequirements> trials_;
    FootprintModel model_;
    bool asks_;     ///< workers answer `plan`: footprints are exact
    bool shrinks_;  ///< workers can train a batch in micro-batches
};

}  // namespace hpo
