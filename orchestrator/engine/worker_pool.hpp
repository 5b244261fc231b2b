// The workers of a session: their state, their trials, the time of their last message, and how they are started and
// ended. Callers decide why. The pool tells placement about each change of a worker.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/messages.hpp"
#include "hpo/study.hpp"
#include "orchestrator/execution/executor.hpp"
#include "orchestrator/scheduling/placement.hpp"

namespace hpo {

/// The resources of a trial in a worker.
struct HeldResources {
    Reservation reservation;
    Footprint used{0, 0, 0};  ///< largest use measured in this attempt; 0: not measured
};

/// A trial in a worker, from its reservation until the worker has released it.
struct Job {
    enum class Phase { reserved, running, ending };
    Phase phase = Phase::reserved;
    AttemptId id;                ///< attempt 0 while reserved
    bool joins = false;          ///< reserved a colocated footprint; else the whole worker's
    Seconds begun{0};            ///< running: start of the attempt
    Seconds heard{0};            ///< time of the last message; ending: of the decision
    std::int64_t order = 0;      ///< position among all launches of the session
    std::int64_t from_step = 0;  ///< step of the checkpoint from which this attempt went on
    std::int64_t last_step = 0;  ///< last step reported in this attempt
    std::int64_t unused = 0;     ///< ignored reports of this attempt
    std::int64_t logged = 0;     ///< log lines of this attempt
    bool started = false;        ///< the worker has said that the attempt trains
    bool warned = false;         ///< this attempt has caused a warning
    bool checkpoints = false;    ///< writes checkpoints, although its worker did not know so at its start
    bool taken = false;          ///< the worker has accepted the trial: it was healthy, or has sent a message about it
    bool borrowed = false;       ///< also computed on other workers' cores for some time
    bool complete = false;       ///< ending after its last step: may take its time
    HeldResources held;
};

struct Worker : PlacementWorker {
    std::vector<Job> jobs;     ///< one for each of `trials`
    bool shared = false;       ///< has had several jobs at once since it was idle: the memory of each is unknown
    Seconds heard{0};          ///< starting, planning: time of the last message
    Seconds start{0};          ///< starting: begin of the start; then its duration, until a trial begins
    std::int64_t pid = 0;      ///< process id, from its hello
    int host = 0;              ///< index of its host
    int number = 0;            ///< among the workers of its host, the lowest that was free
    bool checkpoints = false;  ///< writes checkpoints that a trial can resume from
    bool shrinks = false;      ///< can train a batch in micro-batches
    bool ailing = false;       ///< its last trial failed, so that it may be about to exit
    bool once = false;         ///< trains one trial, then exits
    bool threads = false;      ///< can compute with several threads, on given cores
    bool warm = false;         ///< has trained a trial before its present ones
    bool spent = false;        ///< leaves by itself after its one trial
    bool greeted = false;      ///< has sent its hello
    AttemptId culprit;         ///< leaving: attempt that is charged with its end; trial 0: none
    bool reachable = true;     ///< false: its host does not answer at the moment
    std::vector<int> cores;    ///< cores it was last given; empty: its own, on one thread
    bool borrows = false;      ///< some of `cores` belong to other workers
    std::string environment;   ///< cores and environment variables, as text
    std::string kill_reason;   ///< why the session ended it; becomes the reason of its attempts

    [[nodiscard]] bool has_free_slot() const { return state == State::ready && planning == 0 && trials < slots; }
};

/// The place where a worker computes: the host, or accelerators.
enum class Side { any, host, device };

class WorkerPool {
   public:
    using State = Worker::State;

    /// All references outlive the pool. `workers` is the largest number of workers at once.
    WorkerPool(const Resources& resources, Executor& executor, const Clock& clock, Placement& placement, int workers);

    /// Raises the largest number of workers at once.
    void grow(int workers);

    [[nodiscard]] const std::vector<Worker>& workers() const { return workers_; }
    [[nodiscard]] const Worker& at(WorkerIndex index) const { return workers_.at(static_cast<std::size_t>(index)); }
    /// Returns the job of an attempt; nullptr if the worker does not have it. Not for changes that placement must know.
    [[nodiscard]] Job* find(WorkerIndex index, AttemptId id);

    // ---- Start of a worker ----

    void launch(WorkerIndex index, const LaunchSpec& spec, int device, const std::vector<int>& more = {});
    /// Takes in a worker's hello. Returns false if the pool no longer waits for this worker.
    bool greet(WorkerIndex index, const from_worker::Hello& hello);
    /// Restarts the silence timeout of the attempt that a message names, or of all attempts of the worker if it names
    /// none.
    void note_life(WorkerIndex index, const WorkerMessage& message);
    /// Restarts all silence timeouts, after this process itself was held up (a suspended machine, a blocked terminal, a
    /// locked database) and read no messages.
    void forgive_silence();

    // ---- Trials of a worker ----

    Job& reserve(WorkerIndex index, bool joins, const TrialNeeds& needs, Reservation reservation);
    /// Begins the attempt that the job was reserved for.
    void begin(WorkerIndex index, Job& job, AttemptId id);
    /// Changes the reservation of a job, on the same devices.
    void resize(Job& job, const Footprint& footprint, bool alone);
    /// Marks a worker whose last trial failed, so that it may be about to exit.
    void set_ailing(WorkerIndex index, bool ailing) { worker(index).ailing = ailing; }
    /// Removes a finished job. Returns the job that takes over the worker's fixed footprint (the part that is
    /// independent of its trials); nullptr if it needs no new holder.
    Job* let_go(WorkerIndex index, AttemptId id);
    void ask_plan(WorkerIndex index, const to_worker::Plan& question);
    /// Takes in whether the worker's host answers. While the host is silent, the worker is not asked to plan, and if it
    /// is still starting, the trials reserved for it are released.
    void set_reachable(WorkerIndex index, bool reachable);
    /// Takes in that the worker has answered ask_plan().
    void plan_answered(WorkerIndex index);
    /// Sends the worker the cores to compute on. `borrows`: some of them belong to other workers.
    void use_cores(WorkerIndex index, std::vector<int> cores, bool borrows);
    /// Sends Stop to the worker of the trial.
    void stop_trial(std::int64_t trial);

    // ---- End of a worker ----

    /// Ends a worker: Shutdown and SIGTERM, then SIGKILL after `resources.grace`. Its reservations last until it has
    /// exited. `culprit` is the attempt that is charged.
    void end(WorkerIndex index, const std::string& reason, AttemptId culprit = {});
    void end_all(const std::string& reason);
    void end_on_device(int device, const std::string& reason);
    /// Ends all idle workers except idle_to_reuse(), whose memory counts as free already.
    void end_idle_but_one(const std::string& reason);
    /// Ends workers that have sent nothing for `resources.progress_timeout`, and those that have not released an ended
    /// trial in time.
    void end_silent();
    /// Lets a worker that trains a single trial exit by itself, as it may still have work to do, such as saving a
    /// model.
    void retire(WorkerIndex index);
    /// Sends SIGKILL to all workers.
    void kill_all();
    /// Removes an exited worker, frees its index and returns its last state.
    Worker remove(WorkerIndex index);

    // ---- Queries ----

    [[nodiscard]] bool empty() const { return known_.empty.size() == workers_.size(); }
    /// Returns true if a worker has a job, or is not idle.
    [[nodiscard]] bool busy() const { return known_.empty.size() + known_.idle.size() < workers_.size(); }
    [[nodiscard]] bool any_starting() const { return !known_.starting.empty(); }
    /// Returns true if a worker has a free slot or, with `may_launch`, could be started.
    [[nodiscard]] bool can_take_trial(bool may_launch) const {
        return (may_launch && !known_.empty.empty()) || !known_.with_free_slot.empty();
    }
    /// Return the first index without a worker, the first worker that can answer ask_plan() now, and whether one will
    /// be able to soon.
    [[nodiscard]] std::optional<WorkerIndex> first_empty() const { return first(known_.empty); }
    [[nodiscard]] std::optional<WorkerIndex> first_to_ask(Side side = Side::any) const {
        return first_on(side, known_.answers);
    }
    [[nodiscard]] bool any_to_ask_soon(Side side = Side::any) const {
        return first_on(side, known_.answers_soon).has_value();
    }
    [[nodiscard]] std::optional<WorkerIndex> first_idle(Side side) const { return first_on(side, known_.idle); }
    /// Returns the number of workers on the host that have not exited.
    [[nodiscard]] std::int64_t on_host() const;
    /// Returns the idle worker that the next trial would take: the first that can be reached, else the first.
    [[nodiscard]] std::optional<WorkerIndex> idle_to_reuse() const;
    /// Returns the number of workers with a trial.
    [[nodiscard]] std::int64_t with_trials() const;
    /// Returns true if an idle worker can answer ask_plan().
    [[nodiscard]] bool any_idle_to_ask() const { return !known_.answers_idle.empty(); }
    /// Returns the numbers of the trials in training, ascending.
    [[nodiscard]] std::vector<std::int64_t> running() const;
    /// Returns the workers that have sent their hello and have not exited.
    [[nodiscard]] std::vector<WorkerIndex> started() const;

   private:
    /// Workers by their present abilities.
    struct Known {
        using Workers = std::set<WorkerIndex>;
        Workers empty, idle, starting, with_free_slot, answers, answers_soon, answers_idle;
        std::vector<std::uint8_t> in;  ///< for each worker: the sets above that contain it, one bit each
    };
    [[nodiscard]] Worker& worker(WorkerIndex index) { return workers_.at(static_cast<std::size_t>(index)); }
    /// Updates `known_` for a changed worker, and tells placement.
    void changed(WorkerIndex index);
    static std::optional<WorkerIndex> first(const Known::Workers& workers) {
        return workers.empty() ? std::nullopt : std::optional(*workers.begin());
    }
    [[nodiscard]] std::optional<WorkerIndex> first_on(Side side, const Known::Workers& workers) const;

    const Resources& resources_;
    Executor& executor_;
    const Clock& clock_;
    Placement& placement_;
    std::vector<Worker> workers_;
    std::int64_t launches_ = 0;
    Known known_;
};

}  // namespace hpo
