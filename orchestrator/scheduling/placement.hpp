// Decides which waiting trial starts in which worker, and which worker is started or released for it: a state machine
// without I/O and clock. `hpo run` and `hpo simulate` tell it the reports of workers, and `hpo check` the expected
// reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/scheduling/admission.hpp"
#include "orchestrator/scheduling/machine.hpp"

namespace hpo {

/// The facts of a worker that placing needs.
struct PlacementWorker {
    enum class State { empty, starting, ready, leaving };
    State state = State::empty;
    int device = host_only;     ///< or a host
    std::vector<int> more{};    ///< further devices
    std::string fusion_key{};   ///< fusion key of its trials; empty: they need none, or there are none
    std::size_t slots = 1;      ///< trials at once
    std::size_t trials = 0;     ///< trials in it, or reserved for it
    bool plans = false;         ///< can plan a trial: answer its needs
    std::int64_t planning = 0;  ///< trial whose needs it was asked for and has not answered yet; 0: none
    bool exclusive = false;     ///< its trial shares a worker with no other trial

    [[nodiscard]] bool idle() const { return state == State::ready && trials == 0 && planning == 0; }
    friend bool operator==(const PlacementWorker&, const PlacementWorker&) = default;
};

struct PlacementLimits {
    std::optional<std::int64_t> parallel{};  ///< trials at once; absent: as many as fit
    bool may_open = true;                    ///< a worker may be started now
    bool grows = false;                      ///< a host may join: nothing is too large for good
    /// The most workers with trials at once on a device or a host, and on each other one; absent: as many as fit.
    std::map<int, std::int64_t> workers_on{};
    std::optional<std::int64_t> workers_each{};
    /// The most trials at once in a worker with several slots, by its device, and on each other device; absent: one per
    /// slot.
    std::map<int, std::size_t> slots_on{};
    std::optional<std::size_t> slots_each{};

    friend bool operator==(const PlacementLimits&, const PlacementLimits&) = default;
};

/// A decision.
struct PlacementDecision {
    struct Start {
        Admission::Launch launch;
        std::size_t worker = 0;
        bool opens = false;  ///< the worker is to be started; else it is ready
    };
    std::optional<Start> start;
    std::vector<std::size_t> release;      ///< idle workers that make way for one on another device
    std::vector<Admission::Reason> never;  ///< trials that are too large for the empty machine; then nothing starts
    std::optional<Admission::Reason> kept_out;  ///< the first trial that waits for memory of other programs
    bool limited = false;                       ///< an admitted trial waits for the limit of workers on its device
    bool joins_soon = false;                    ///< an admitted trial waits for a slot that is free in a moment
};

/// Each part tells it its changes, so that a decision costs about the same with ten devices and with ten
/// thousand. A trial waits for a worker while it is queued, its needs are known, and it is in no worker's hands.
class Placement {
   public:
    /// Sets the machine, which must outlive this object or the next call. Running and waiting trials stay.
    void set_machine(const Machine& machine);
    /// A host of the machine and its accelerators have been read again, in place.
    void host_changed(int host);
    void set_limits(PlacementLimits limits);
    void set_worker(std::size_t index, const PlacementWorker& worker);
    /// Reserves the resources of a trial that runs in a worker or is about to, or whose end is not diagnosed yet.
    /// `order` is the unique number of its launch.
    void hold(std::int64_t order, const Reservation& reservation);
    void release(std::int64_t order);
    /// Marks a trial as waiting to start, or not. Trials with a lower number start earlier.
    void set_queued(std::int64_t trial, bool queued);
    void set_needs(const TrialNeeds& needs);
    void forget_needs(std::int64_t trial);
    /// Has take_changed() return true: something that is only read for a decision may have changed, such as the memory
    /// of other programs or the limits.
    void look_again() { changed_ = true; }

    /// Returns true if a trial may start because of changes since the last call.
    bool take_changed() { return std::exchange(changed_, false); }

    /// Decides the next trial to start, by the rules of admission: in an idle worker, else in one with a free slot and
    /// the trial's fusion key, else in a new one. One start at a time, since each changes the rest of the machine. The
    /// machine must be set. Facts told in another order give the same decision.
    [[nodiscard]] PlacementDecision decide();
    /// Returns the reservation that a start makes.
    [[nodiscard]] Reservation reservation_of(const PlacementDecision::Start& start) const;

    [[nodiscard]] const PlacementWorker& worker(std::size_t index) const { return workers_.at(index); }
    /// Returns the needs of a waiting trial.
    [[nodiscard]] const TrialNeeds& needs_of(std::int64_t trial) const { return *queue_.at(trial)->needs; }
    [[nodiscard]] std::size_t waiting() const { return queue_.size(); }
    /// Queued trials in no worker's hands whose needs are not known.
    [[nodiscard]] const std::set<std::int64_t>& without_needs() const { return without_needs_; }
    /// Returns true if a worker has the trial or is asked about it, or something is reserved for it.
    [[nodiscard]] bool holds(std::int64_t trial) const;
    /// Returns the largest number of slots of any worker that plans trials, without regard to the limits,
    /// and at least 1.
    [[nodiscard]] std::size_t most_slots() const;
    /// Returns how many trials may wait before no further one is looked for (concurrency.hpp).
    [[nodiscard]] std::size_t longest_queue(std::size_t workers) const;

   private:
    using Workers = std::set<std::size_t>;
    struct Trial {
        bool queued = false;
        int held = 0;  ///< reservations for it, and workers that are asked about it
        std::optional<TrialNeeds> needs;
        Admission::Fit fit = Admission::Fit::yes;  ///< while it waits

        [[nodiscard]] bool known() const { return queued || held > 0 || needs; }
    };
    using Trials = std::map<std::int64_t, Trial>;
    void index(std::size_t worker, bool in);
    void tell_idle(int place);
    void count_held(std::int64_t trial, int added);
    void changed(Trials::iterator trial);
    void assess(std::int64_t number, Trial& trial);
    void assess_all();
    void assess_changed();
    [[nodiscard]] Devices joinable_devices(const TrialNeeds& trial) const;
    [[nodiscard]] std::size_t slots_of(const PlacementWorker& worker) const;
    [[nodiscard]] bool may_use_another(int device) const;
    [[nodiscard]] bool takes(const PlacementWorker& worker, const TrialNeeds& trial,
                             const Admission::Launch& launch) const;
    [[nodiscard]] std::optional<std::size_t> free_worker(const Admission::Launch& launch, const TrialNeeds& trial,
                                                         bool another, const std::vector<std::size_t>& released) const;
    std::optional<PlacementDecision::Start> worker_for(const Admission::Launch& launch, const TrialNeeds& trial,
                                                       PlacementDecision& decision) const;

    const Machine* machine_ = nullptr;
    PlacementLimits limits_;
    std::optional<Admission> admission_;
    std::map<std::int64_t, Reservation> held_;  ///< by the order of launch

    Trials trials_;                         ///< all mentioned trials
    std::map<std::int64_t, Trial*> queue_;  ///< trials that wait for a worker
    std::set<std::int64_t> without_needs_;  ///< trials that would wait for a worker if their needs were known
    std::set<std::int64_t> never_;          ///< trials of queue_ that are too large for the empty machine
    std::set<std::int64_t> kept_out_;       ///< trials of queue_ that other programs keep out
    /// Upper bounds of the needs in queue_, except those in never_: of trials on a host, and of trials on devices.
    std::optional<TrialNeeds> largest_on_host_, largest_on_devices_;
    bool changed_ = true;  ///< since take_changed()

    // Workers.
    std::vector<PlacementWorker> workers_;
    Workers empty_, idle_;
    std::map<int, Workers> idle_on_;             ///< by device or host
    std::map<int, Workers> open_on_;             ///< busy workers that may take a further trial
    std::map<int, Workers> asked_on_;            ///< workers without a trial that are about to answer `plan`
    std::map<int, std::int64_t> busy_on_;        ///< number of workers with trials
    std::map<std::string, Workers> by_key_;      ///< workers with trials of a fusion key that others may join
    Workers with_key_;                           ///< workers with a fusion key
    std::map<std::size_t, std::int64_t> slots_;  ///< number of workers that plan trials, by their slots
};

}  // namespace hpo
