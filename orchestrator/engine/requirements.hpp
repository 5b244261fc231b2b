// What the trials of a study need, as far as it is known: answered by a worker, predicted from what others took, or
// learned when one ran out of memory. It reads no machine and starts nothing.
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

/// What a trial that has not ended needs, as far as it is known, and why. It gets a worker of its own after it was in a
/// worker that died with several trials, or ran out of memory in one.
struct TrialRequirements : TrialNeeds {
    bool known = false;              ///< what it needs; else a worker is to be asked, or it is to be predicted
    std::int64_t micro_batches = 0;  ///< of one update; 0: as configured
    std::string shrunk;              ///< why not as configured, for one notice
    Footprint minimum{0, 0, 0};      ///< at least so much, after it ran out of memory
    std::int64_t ran_out_after = 0;  ///< the furthest step of attempts that ran out of memory
    bool waited = false;             ///< in vain, for other programs to free memory; it takes what they leave
    Seconds lasted{0};               ///< its last attempt
    bool must_run_alone = false;     ///< nothing may run beside it, after it ran out of memory
    std::optional<StepWork> work;    ///< of a step, if a worker has answered

    // Where trials may compute on the host and on accelerators.
    bool on_host = false;                             ///< it is to compute on the host
    double step = 0;                                  ///< seconds that are predicted for a step there; 0: not known
    std::string why;                                  ///< for users
    bool not_on_host = false, not_on_device = false;  ///< it cannot run there
    std::map<bool, from_worker::PlanAnswer> answers;  ///< of a worker on the host (true), and of one on an accelerator

    [[nodiscard]] bool runs_on_one_side() const { return not_on_host || not_on_device; }
};

/// An attempt that ran out of memory, and what is known of it.
struct OutOfMemory {
    Allocation given;
    Footprint used{0, 0, 0};     ///< most it was seen to take
    bool device_memory = false;  ///< the device's ran out; else the host's
    Footprint others{0, 0, 0};   ///< what other programs used
};

class RequirementsTable {
   public:
    /// All references outlive it; `placement` is told what trials need. `on_device`: trials need an accelerator each.
    RequirementsTable(const Study& study, Ledger& ledger, Placement& placement, bool on_device);

    /// Whether workers are asked what a trial needs; else it is predicted.
    [[nodiscard]] bool asks_workers() const { return asks_; }
    /// Takes in what a worker can do. True: it is the first that answers what trials need. It knows better than
    /// what was guessed, all of which is forgotten: then call recall().
    bool learn_capabilities(const Worker& worker);

    /// As far as they are known; nothing is of a trial that has ended.
    [[nodiscard]] const TrialRequirements& of(std::int64_t trial) const;
    /// nullptr: nothing is known.
    [[nodiscard]] const TrialRequirements* find(std::int64_t trial) const;
    /// nullptr: they are not known yet.
    [[nodiscard]] const TrialNeeds* known(std::int64_t trial) const;
    /// Fixed keys and the trial's own, as the worker takes them.
    [[nodiscard]] Params configuration(std::int64_t trial) const;
    /// Whether the worker may keep fewer activations in place of smaller micro-batches (`checkpointing: auto`).
    [[nodiscard]] bool may_recompute(std::int64_t trial) const;
    /// The trial has ended.
    void forget(std::int64_t trial);
    /// Returns why the trial is not trained as configured, once.
    std::string take_shrunk(std::int64_t trial) { return std::exchange(change(trial).shrunk, {}); }
    /// How long its last attempt has lasted.
    void set_lasted(std::int64_t trial, Seconds lasted) { change(trial).lasted = lasted; }

    /// What a worker on the host or on an accelerator answered. `unified`: its device's memory is the host's.
    void answered(const from_worker::PlanAnswer& answer, bool on_host, bool unified);
    /// Where trials may compute on the host and on accelerators: the trial is to compute on the one or the other, from
    /// now on. Its requirements are known if a worker there has answered.
    void choose(std::int64_t trial, bool on_host, double step, const std::string& why);
    /// The trial cannot run where it is to compute, but elsewhere perhaps. Returns false if it cannot there either.
    bool try_other_side(std::int64_t trial);
    /// Known from now on, from what was measured and declared.
    void predict(std::int64_t trial, const Machine& machine);
    /// What earlier sessions learned: peaks, and what an attempt that ran out of memory is to be followed by.
    void recall(const Machine& machine);

    /// A reservation gives way to what the trial takes as soon as that is known: after its first step, or, where it ran
    /// out of memory, once it has got further than before. Returns the reservation that the job is to have, with `used`
    /// the most that it was seen to take.
    [[nodiscard]] Reservation record_usage(const Job& job, const Footprint& used);
    /// Stored when it is larger, so that the next session knows it and other trials' requirements are learned from it.
    /// What waits (is not `assigned`) is predicted anew then.
    void keep_peak(const Job& job, const std::function<bool(std::int64_t trial)>& assigned);

    /// What the trial's next attempt is to be given after one that ran out of memory, as text; an Error says why
    /// nothing is left to try.
    Result<std::string> learn_from(std::int64_t trial, const OutOfMemory& death, const Machine& machine);
    /// A trial that ran out of memory has waited too long for other programs to free what it is reserved: it is tried
    /// with what they leave. False: what it waits for is no such reservation.
    bool settle_for_less(std::int64_t trial);
    /// The next attempt is in a worker without other trials.
    void use_own_worker(std::int64_t trial);
    /// The next attempt is with nothing beside it.
    void run_alone(std::int64_t trial);
    /// A trial that no empty machine has room for is trained in smaller micro-batches of the same batch. False: it
    /// cannot.
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
    std::size_t devices_;  ///< accelerators of each trial that does not compute on the host
    std::map<std::int64_t, TrialRequirements> trials_;
    FootprintModel model_;
    bool asks_;     ///< workers answer `plan`: footprints are exact
    bool shrinks_;  ///< workers can train a batch in micro-batches
};

}  // namespace hpo
