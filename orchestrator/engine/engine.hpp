// The loop of a study: it takes events from workers and from time, and sends decisions through the executor. It has no
// I/O of its own, no threads, and no clock but the given one, so that tests move time by hand and play the workers.
//
// The loop runs in rounds: start trials, store the round's events as one transaction, and only then answer the workers;
// wait; take in any number of events.
//
// The state is kept by parts without I/O: the pool of workers, the requirements of trials, the health of devices,
// failures to launch, pending diagnoses. Other parts act on it: one starts trials, attempts take in their steps, and
// the ends of workers, of memory and of devices have a file each.
#pragma once

#include <cstdint>
#include <map>
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

    /// Launches the first workers and trials. Call it once, after the ledger's replay.
    void start();
    void on(WorkerIndex index, const execution::Event& event);
    /// Raises the largest number of workers at once, where a host has joined.
    void grow(int workers) { pool_.grow(workers); }

    /// Checks silent workers, measurements, lost devices and the time budget. Call it about once a second.
    void tick();
    /// Starts a trial that was proposed in the background (EngineParts::proposal_ready).
    void proposal_ready();
    /// Stores waiting steps as one transaction. Call it a few times a second.
    void flush();

    /// Starts trials where they fit, stores the round's events, and answers workers. Call it soon after other calls
    /// that change the engine; one call covers many changes.
    void end_round();
    /// Returns true if end_round() has put off work, so that workers need not wait long. Call it again soon then.
    [[nodiscard]] bool has_more() const { return more_to_close_ && !context_.closing(); }

    /// Ends the session as interrupted, or `at_limit`: launches nothing, queues running trials again for the next
    /// session, and ends workers by Shutdown, SIGTERM, then SIGKILL.
    void interrupt(const std::string& reason, End how = End::interrupted);
    /// Ends the session in the same way, but as failed.
    void fail(const std::string& reason);
    /// Sends SIGKILL to all workers.
    void kill();
    /// Ends one trial, in any unfinished state. Fails if it has ended already or does not exist.
    Result<void> stop_trial(std::int64_t trial);

    /// Returns true once the session has ended and no worker lives.
    [[nodiscard]] bool done() const { return context_.closing() && pool_.empty(); }
    [[nodiscard]] End end() const { return context_.end; }
    [[nodiscard]] const std::string& end_reason() const { return context_.end_reason; }
    /// Returns the seconds of all sessions of the study, this one included.
    [[nodiscard]] double seconds() const;
    /// Returns the numbers of the trials in training, ascending.
    [[nodiscard]] std::vector<std::int64_t> running() const { return pool_.running(); }
    /// Returns the ends of trials in training as Ledger::predicted_end() has them, of at most 256 trials.
    [[nodiscard]] std::map<std::int64_t, double> predicted_ends() const;
    /// Returns the resources of trials in workers and of trials with a pending diagnosis, in the order of their launch.
    [[nodiscard]] std::vector<HeldResources> held_resources() const;
    /// Returns the workers that have sent their hello and have not exited.
    [[nodiscard]] std::vector<WorkerIndex> workers() const { return pool_.started(); }
    /// Returns the number of trials at once that is allowed now, and the throughput that was measured for each device.
    [[nodiscard]] std::int64_t at_once() const { return throughput_.at_once(); }
    [[nodiscard]] std::vector<ConcurrencyFinding> concurrency() const { return throughput_.findings(); }
    /// Returns which trial waits for memory that other programs use, with the numbers; empty if none does.
    [[nodiscard]] const std::string& waits() const { return starts_.waits(); }
    /// Returns a line for each thing that the session waits for.
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

    // State. Parts whose changes affect placement tell it about them.
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

    // Actions.
    TrialEnds ends_;
    MemoryFailures memory_;
    DeviceFailures devices_;
    Attempts attempts_;
    WorkerEnds worker_ends_;
    TrialStarts starts_;
    CoreSharing core_sharing_;

    std::set<std::string> remarks_;  ///< remarks that the user has seen
    Seconds started_{0}, last_tick_{0};
    double seconds_before_ = 0;   ///< duration of earlier sessions
    bool more_to_close_ = false;  ///< at the end of the study: paused trials are left to end
    bool wound_up_ = false;
};

}  // namespace hpo
