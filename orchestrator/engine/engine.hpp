// The loop of a study: events come in from workers and from time, decisions go out through the executor. It has no I/O
// of its own, no threads, and no clock but the one it is given: tests move time by hand and play the workers.
//
// The loop runs in rounds: start trials, store what has happened as one transaction, and only after that send workers
// their answers; wait; take in any number of events.
//
// The state is kept by parts without I/O: the pool of workers, the requirements of trials, the health of devices,
// failures to launch, pending diagnoses. Other parts act on it: one starts trials, attempts take in their steps, and
// the ends of workers, of memory and of devices have a file each.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/engine/attempts.hpp"
#include "orchestrator/engine/context.hpp"
#include "orchestrator/engine/core_sharing.hpp"
#include "orchestrator/engine/trial_starts.hpp"
#include "orchestrator/engine/worker_ends.hpp"

namespace hpo {

class Engine {
   public:
    using End = SessionEnd;

    Engine(EngineParts parts, int workers);
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Launches what can be launched. Call once, after the ledger's replay.
    void start();
    void on(WorkerIndex index, const execution::Event& event);
    /// About once a second: silence, measurements, lost devices, the time budget.
    void tick();
    /// A trial that was proposed in the background (EngineParts::proposal_ready) can start.
    void proposal_ready();
    /// Stores steps that wait to be stored with others, a few times a second.
    void flush();

    /// Starts trials where they fit, stores what has happened, and answers workers. Call it soon after each of the
    /// above and of the below; one call does for many of them.
    void end_round();
    /// Whether the end of the round has put off work so that nobody waits for long: then call it again soon.
    [[nodiscard]] bool has_more() const { return more_to_close_ && !context_.closing(); }

    /// No new launches; running trials are queued again for the next session, workers are asked to leave, then TERM,
    /// then KILL.
    void interrupt(const std::string& reason);
    /// The same for a study that cannot go on: the session has failed.
    void fail(const std::string& reason);
    /// KILL to everything, now.
    void kill();
    /// Ends one trial, whatever it does. An Error where it has ended already or does not exist.
    Result<void> stop_trial(std::int64_t trial);

    /// True once nothing is left to do and no worker lives.
    [[nodiscard]] bool done() const { return context_.closing() && pool_.empty(); }
    [[nodiscard]] End end() const { return context_.end; }
    [[nodiscard]] const std::string& end_reason() const { return context_.end_reason; }
    /// Seconds that sessions have held the study, this one included.
    [[nodiscard]] double seconds() const;
    /// Trials that workers train at this moment, by number.
    [[nodiscard]] std::vector<std::int64_t> running() const { return pool_.running(); }
    /// What trials in workers, and those whose last attempt is not diagnosed yet, hold; in the order of their launch.
    [[nodiscard]] std::vector<HeldResources> held_resources() const;
    /// Processes of the living workers.
    [[nodiscard]] std::vector<std::int64_t> workers() const { return pool_.pids(); }
    /// Trials at once that are allowed now, and what was measured of their throughput.
    [[nodiscard]] std::int64_t at_once() const { return throughput_.at_once(); }
    [[nodiscard]] std::vector<ConcurrencyFinding> concurrency() const { return throughput_.findings(); }
    /// Which trial waits for what other programs use, with the numbers; empty: none does.
    [[nodiscard]] const std::string& waits() const { return starts_.waits(); }
    /// What the session waits for, a line each, for people.
    [[nodiscard]] std::vector<std::string> waiting_for() const;

   private:
    template <class F>
    void guarded(F&& handle);
    void start_trials();
    void end_if_over();
    void on_message(WorkerIndex index, const WorkerMessage& message);
    void finish_what_was_stored();
    void forgive_own_delay();
    [[nodiscard]] bool out_of_time() const;
    void end_paused_trials();
    void wind_up();

    EngineContext context_;
    Supply supply_;

    // What is known. Those that change what may start where tell placement.
    Placement placement_;
    WorkerPool pool_;
    DeviceHealth health_;
    LaunchFailures launches_;
    PendingDiagnoses diagnoses_;
    RequirementsTable requirements_;
    MachineView machine_;
    Throughput throughput_;
    StepForecasts forecasts_;
    BackendChooser backends_;

    // What follows.
    TrialEnds ends_;
    MemoryFailures memory_;
    DeviceFailures devices_;
    Attempts attempts_;
    WorkerEnds worker_ends_;
    TrialStarts starts_;
    CoreSharing core_sharing_;

    std::set<std::string> remarks_;  ///< that the user was given
    Seconds started_{0}, last_tick_{0};
    double seconds_before_ = 0;   ///< of the study's earlier sessions
    bool more_to_close_ = false;  ///< paused trials, at the end of the study
    bool wound_up_ = false;
};

}  // namespace hpo
