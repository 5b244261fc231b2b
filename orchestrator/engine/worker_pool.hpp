// The workers of a session: which are there, what each trains, when its last message came, and how it is started and
// ended. Why is decided by its callers. It tells placement each change that matters there.
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

/// What a trial in a worker holds.
struct HeldResources {
    Reservation reservation;
    Footprint used{0, 0, 0};  ///< most it was seen to take in this attempt; 0: not measured
};

/// A trial in a worker, from the moment it is reserved until the worker has let it go.
struct Job {
    enum class Phase { reserved, running, ending };
    Phase phase = Phase::reserved;
    AttemptId id;        ///< reserved: attempt 0
    bool joins = false;  ///< reserved as co-located with others of its fusion key; else with all that the worker takes
    Seconds begun{0};    ///< running: since then
    Seconds heard{0};    ///< last sign of life; ending: the decision
    std::int64_t order = 0;      ///< of its launch among all launches
    std::int64_t last_step = 0;  ///< reported in this attempt
    std::int64_t unused = 0;     ///< reports of this attempt that were not used
    std::int64_t logged = 0;     ///< lines it sent to the log in this attempt
    bool warned = false;         ///< the user was given a warning of this attempt
    bool taken = false;          ///< running: its worker was well, or has sent a message about it
    bool borrowed = false;       ///< it was computed on cores of other workers, too, for some time
    bool complete = false;       ///< ending: it has taken all its steps, and may take its time
    HeldResources held;
};

struct Worker : PlacementWorker {
    std::vector<Job> jobs;     ///< as many as `trials`
    bool shared = false;       ///< had several jobs at once since it was idle: which of them holds what is unknown
    Seconds heard{0};          ///< starting, planning: last sign of life
    Seconds start{0};          ///< starting: since when; then how long it took to start, until a trial has begun
    std::int64_t pid = 0;      ///< from its hello
    bool checkpoints = false;  ///< writes checkpoints that a trial can resume from
    bool shrinks = false;      ///< can train a batch in micro-batches
    bool ailing = false;       ///< the last trial of it failed: it may be about to end
    bool once = false;         ///< trains one trial, then exits
    bool threads = false;      ///< can compute with several threads, on the cores that it is told
    bool warm = false;         ///< has trained one before those that it has now
    bool spent = false;        ///< leaving, after its one trial, at its own pace
    bool greeted = false;      ///< it sent its hello
    AttemptId culprit;         ///< leaving: the attempt that is charged for it; trial 0: none
    std::vector<int> cores;    ///< that it was told last; none: its own, on one thread
    bool borrows = false;      ///< some of them are those of other workers
    std::string environment;   ///< its cores and variables, for people
    std::string kill_reason;   ///< why we ended it, for the attempts' reason

    [[nodiscard]] bool has_free_slot() const { return state == State::ready && planning == 0 && trials < slots; }
};

/// Where a worker computes: on the host, or on accelerators.
enum class Side { any, host, device };

class WorkerPool {
   public:
    using State = Worker::State;

    /// All references outlive it. `workers`: so many at once.
    WorkerPool(const Resources& resources, Executor& executor, const Clock& clock, Placement& placement, int workers);

    [[nodiscard]] const std::vector<Worker>& workers() const { return workers_; }
    [[nodiscard]] const Worker& at(WorkerIndex index) const { return workers_.at(static_cast<std::size_t>(index)); }
    /// For the progress of its attempt. nullptr: the worker does not have it.
    [[nodiscard]] Job* find(WorkerIndex index, AttemptId id);

    // How a worker begins.

    void launch(WorkerIndex index, const LaunchSpec& spec, int device, const std::vector<int>& more = {});
    /// It sent its hello. False: it is not waited for any more.
    bool greet(WorkerIndex index, const from_worker::Hello& hello);
    /// A message is a sign of life: of the attempt that it names, of all attempts of the worker where it names none.
    void note_life(WorkerIndex index, const WorkerMessage& message);
    /// This process was held up itself (a suspended machine, a blocked terminal, a locked database) and read no
    /// messages: the silence of workers counts from now.
    void forgive_silence();

    // What it trains.

    Job& reserve(WorkerIndex index, bool joins, const TrialNeeds& needs, Reservation reservation);
    /// The attempt for which the job was reserved begins.
    void begin(WorkerIndex index, Job& job, AttemptId id);
    /// What the job holds from now on, on the same devices.
    void resize(Job& job, const Footprint& footprint, bool alone);
    /// Whether the worker may be about to end, since the trial that it trained last has failed.
    void set_ailing(WorkerIndex index, bool ailing) { worker(index).ailing = ailing; }
    /// The job is over. The job that carries from now on what the worker takes whatever it trains, and did not before;
    /// nullptr: none does.
    Job* let_go(WorkerIndex index, AttemptId id);
    void ask_plan(WorkerIndex index, const to_worker::Plan& question);
    /// The worker has answered what it was asked.
    void plan_answered(WorkerIndex index);
    /// Tells the worker to compute on these cores. `borrows`: some of them are those of other workers.
    void use_cores(WorkerIndex index, std::vector<int> cores, bool borrows);
    /// Tells the worker that trains it to stop the trial.
    void stop_trial(std::int64_t trial);

    // How it ends.

    /// Asks a worker to leave: Shutdown, TERM, and KILL after the grace period. What it holds stays reserved until it
    /// is gone. `culprit`: the attempt that is charged.
    void end(WorkerIndex index, const std::string& reason, AttemptId culprit = {});
    void end_all(const std::string& reason);
    void end_on_device(int device, const std::string& reason);
    /// What idle workers hold is given back, but for the first one's, whose memory counts as free already.
    void end_idle_but_one(const std::string& reason);
    /// Ends those that have sent nothing for `resources.progress_timeout`, and those that go on long after their trial
    /// was to end.
    void end_silent();
    /// It has trained its one trial, and exits by itself. What it does on the way (keeping a model, say) is its own
    /// affair.
    void retire(WorkerIndex index);
    /// KILL, now.
    void kill_all();
    /// It is gone, and the index is free. What it was.
    Worker remove(WorkerIndex index);

    // What there is.

    [[nodiscard]] bool empty() const { return known_.empty.size() == workers_.size(); }
    /// A worker has a job, or does something else than wait for one.
    [[nodiscard]] bool busy() const { return known_.empty.size() + known_.idle.size() < workers_.size(); }
    [[nodiscard]] bool any_starting() const { return !known_.starting.empty(); }
    /// A worker could take a trial or, where one `may_launch`, be started for one.
    [[nodiscard]] bool can_take_trial(bool may_launch) const {
        return (may_launch && !known_.empty.empty()) || !known_.with_free_slot.empty();
    }
    /// The first worker that could be started, and that can be asked what a trial needs; one of the latter that can be
    /// soon.
    [[nodiscard]] std::optional<WorkerIndex> first_empty() const { return first(known_.empty); }
    [[nodiscard]] std::optional<WorkerIndex> first_to_ask(Side side = Side::any) const {
        return first_on(side, known_.answers);
    }
    [[nodiscard]] bool any_to_ask_soon(Side side = Side::any) const {
        return first_on(side, known_.answers_soon).has_value();
    }
    [[nodiscard]] std::optional<WorkerIndex> first_idle(Side side) const { return first_on(side, known_.idle); }
    /// Workers on the host that have not ended.
    [[nodiscard]] std::int64_t on_host() const;
    /// Workers that have a trial.
    [[nodiscard]] std::int64_t with_trials() const;
    /// An idle one among those that can be asked.
    [[nodiscard]] bool any_idle_to_ask() const { return !known_.answers_idle.empty(); }
    /// Trials that workers train at this moment, by number.
    [[nodiscard]] std::vector<std::int64_t> running() const;
    /// Processes of the living workers.
    [[nodiscard]] std::vector<std::int64_t> pids() const;

   private:
    /// Workers by what they can do now.
    struct Known {
        using Workers = std::set<WorkerIndex>;
        Workers empty, idle, starting, with_free_slot, answers, answers_soon, answers_idle;
        std::vector<std::uint8_t> in;  ///< of each worker: which of these it is in, a bit each
    };
    [[nodiscard]] Worker& worker(WorkerIndex index) { return workers_.at(static_cast<std::size_t>(index)); }
    /// Takes in what a worker has become, and tells placement.
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
