// Which waiting trial starts in which worker, and which worker is started or released for it: a state machine without
// I/O and clock. `hpo check` drives it with what would follow, and `hpo run` (placer.hpp) with what workers report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/scheduling/plan.hpp"

namespace hpo {

/// What placing has to know of a worker.
struct PlacementWorker {
    enum class State { empty, starting, ready, leaving };
    State state = State::empty;
    int device = host_only;
    std::vector<int> more{};   ///< further devices
    std::string fusion_key{};  ///< that its trials have in common; empty: they need none, or there are none
    std::size_t slots = 1;     ///< trials at once
    std::size_t trials = 0;    ///< that it trains, or that are reserved for it
    bool plans = false;        ///< it answers what a trial needs
    bool asked = false;        ///< it has not answered yet what a trial needs
    bool exclusive = false;    ///< one of its trials shares a worker with no other

    [[nodiscard]] bool idle() const { return state == State::ready && trials == 0 && !asked; }
    friend bool operator==(const PlacementWorker&, const PlacementWorker&) = default;
};

/// A trial that waits, and what it needs.
struct PlacementTrial {
    std::int64_t trial = 0;
    Footprint footprint;
    Footprint colocated{0, 0, 0};  ///< in a worker that trains others with its fusion key
    bool alone = false;            ///< see Waiting::alone
    std::string fusion_key{};      ///< empty: it joins no other trials
    bool own_worker = false;       ///< it may share a worker with no other
    bool on_host = false;          ///< it computes on the host although other trials need accelerators
};

struct PlacementLimits {
    bool on_device = false;                  ///< each trial needs accelerators,
    std::size_t devices = 1;                 ///< so many at once
    std::optional<std::int64_t> parallel{};  ///< trials at once; absent: as many as fit
    bool may_open = true;                    ///< a worker may be started now
    /// Workers with trials at once on a device, by its index, and on each other device; absent: as many as fit.
    std::map<int, std::int64_t> workers_on{};
    std::optional<std::int64_t> workers_each{};
    /// Trials at once in a worker with several slots, by its device, and on each other device; absent: as many as it
    /// has slots.
    std::map<int, std::size_t> slots_on{};
    std::optional<std::size_t> slots_each{};

    friend bool operator==(const PlacementLimits&, const PlacementLimits&) = default;
};

struct PlacementState : PlacementLimits {
    std::vector<PlacementWorker> workers;
    std::vector<Reservation> reservations{};  ///< of trials in workers, the oldest first
    std::vector<PlacementTrial> queue{};      ///< in the order in which they should start
};

/// What follows from a state.
struct PlacementDecision {
    struct Start {
        Admission::Launch launch;
        std::size_t worker = 0;
        bool opens = false;  ///< the worker is to be started; else it is ready
    };
    std::optional<Start> start;
    std::vector<std::size_t> release;      ///< idle workers that make way for one on another device
    std::vector<Admission::Reason> never;  ///< trials that are too large for the empty machine; then nothing starts
    std::optional<Admission::Reason> kept_out;  ///< the first trial that waits for what other programs use
    bool limited = false;                       ///< an admitted trial waits for the limit of workers on its device
    bool joins_soon = false;                    ///< an admitted trial waits for a slot that is free in a moment
};

/// The next trial to start, by the admission rules of plan.hpp: in an idle worker, else in one with a free slot and the
/// trial's fusion key, else in a new one. One start at a time, since each changes what the machine has left. The same
/// state and machine always give the same decision.
PlacementDecision place(const PlacementState& state, const Machine& machine);

/// The reservation that a start makes.
Reservation reservation_of(const PlacementState& state, const PlacementDecision::Start& start);

/// The state after a start: the trial has left the queue and is reserved for its worker, which is starting if it was
/// opened.
void apply(PlacementState& state, const PlacementDecision::Start& start);

/// Trials that wait before no further one is looked for (concurrency.hpp).
std::size_t longest_queue(const PlacementState& state, std::size_t workers);

}  // namespace hpo
