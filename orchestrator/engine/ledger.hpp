// The ledger of a study: its stored events, and the sampler and rules that learn from them. An event is stored before
// anyone outside acts on it. Opening the ledger again replays the events, which restores all state.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hpo/event.hpp"
#include "orchestrator/engine/race.hpp"
#include "orchestrator/engine/seen_data.hpp"
#include "orchestrator/engine/step_marks.hpp"
#include "orchestrator/engine/store_failed.hpp"
#include "orchestrator/engine/tries.hpp"
#include "orchestrator/sampling/background_proposer.hpp"
#include "orchestrator/stopping/restart.hpp"
#include "orchestrator/stopping/rules.hpp"
#include "orchestrator/store/store.hpp"

namespace hpo {

/// Returns a trial's last report with `values` added, which came with the end of the trial. A trial without reports
/// gets one at the last step, which is its first where the program alone decides how many there are.
Report final_step(const TrialRecord& trial, const Metrics& values, const Budget& budget);

/// The stored events of a study, with the sampler and the rules that learn from them. Not thread-safe. A method that
/// changes the ledger throws StoreFailed if the store fails, and then has changed nothing. Reports that waited to be
/// stored keep waiting; commit() describes its own failure.
class Ledger {
   public:
    /// `store` outlives the ledger. The proposer and the rules are new ones, made from the same study.
    Ledger(const Study& study, Store& store, Proposer proposer, Rules rules);

    /// Reads the stored events and rebuilds the state. Fails if they cannot be read or contradict each other.
    Result<void> replay();

    /// Makes entries wait for commit(), which stores those of a round of the loop as one transaction.
    void wait_for_commits() { waits_for_commits_ = true; }
    /// Makes ended trials drop their steps and parameters, and keep their state and value. For simulations of a million
    /// trials.
    void forget_ended() { forgets_ended_ = true; }
    /// Stores the waiting entries. Call it before anyone outside acts on an entry, such as a worker on its answer. If
    /// only steps wait, they are left to flush(), so that thousands per second share a transaction. Throws StoreFailed;
    /// then no further entries are possible, and the waiting ones are stored by settle() or lost, as if the process
    /// were killed.
    void commit();
    /// Returns true if steps wait for flush(). Call it some 50 ms later; a kill may lose these steps.
    [[nodiscard]] bool waits() const { return steps_wait_; }
    /// Returns why no further entries are possible; nothing while they are.
    [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }
    void flush();
    /// Stores summaries of changed trials for other processes that read the study. Call it about once a second.
    void summarize();

    /// Stores telemetry of the devices.
    void add_telemetry(std::span<const TelemetryRow> rows);

    /// Return the number of results entered, and the number of these that survive a loss of power. Others must not be
    /// shown (announcements.hpp). The latter throws StoreFailed if the disk has failed.
    [[nodiscard]] std::int64_t results() const { return store_.results(); }
    [[nodiscard]] std::int64_t results_on_disk() const;
    /// Calls `listener` on another thread whenever results_on_disk() has grown or would throw. Empty: no calls.
    void when_on_disk(std::function<void()> listener) { store_.when_on_disk(std::move(listener)); }
    /// Stores all waiting entries. Returns when all results are on the disk.
    void settle();

    void session_started(event::SessionStarted session);
    /// Stores the end of the session, and settles.
    void session_ended(event::SessionEnded session);

    /// Proposes and queues a new trial; returns nothing if the space is exhausted. With `ready`, a slow sampler
    /// proposes on another thread, from which `ready` is called when it is done. Returns 0 until then.
    std::optional<std::int64_t> propose(const std::function<void()>& ready = {});
    /// Returns true if the space has a further configuration. Waits for the sampler's proposal, and drops it.
    [[nodiscard]] bool can_propose();
    /// Returns true once propose() or can_propose() has found the space exhausted.
    [[nodiscard]] bool exhausted() const { return exhausted_; }
    /// Returns the first trial of the configuration that may still be the best and is to have a further seed
    /// (race.hpp); nothing if there is none.
    [[nodiscard]] std::optional<std::int64_t> to_repeat() const { return race_.next(); }
    /// Queues a new trial that trains the configuration of trial `first` with another seed.
    std::int64_t repeat(std::int64_t first);
    /// Return the number of trials that are further seeds, and the number of configurations.
    [[nodiscard]] std::int64_t repeats() const { return race_.further(); }
    [[nodiscard]] std::int64_t configurations() const {
        return static_cast<std::int64_t>(record_.trials.size()) - repeats();
    }
    /// Drops the proposal that another thread computes. `ready` is not called after this returns.
    void drop_proposal();
    [[nodiscard]] const BackgroundProposer& proposer() const { return proposer_; }
    /// Stores that the trial trains on data with this fingerprint. Returns the first trial that had other data with the
    /// same parameters of the data; 0 if there is none.
    std::int64_t saw_data(std::int64_t trial, const Params& params, const std::string& fingerprint);
    /// The fingerprints of the script's files at the last session (code_state.hpp).
    [[nodiscard]] std::string scripts() const;
    void set_scripts(const std::string& fingerprints);
    /// Begins the next attempt of a queued trial and returns the attempt's number.
    std::int64_t launch(std::int64_t trial, const std::string& where, Allocation allocation);
    /// Stores the largest memory use of a trial.
    void measured(std::int64_t trial, Footprint peak);
    /// Stores the final metrics that a script sent.
    void closing(std::int64_t trial, Metrics values);
    /// Adds a step and judges it. On stop, pause and completion the trial has already ended or paused in the ledger
    /// when this returns. `checkpoints`: the worker writes a checkpoint once it is answered, so that the next commit
    /// stores the step. (A checkpoint ahead of the stored steps would leave a gap after a kill.) A trial whose restart
    /// would take longer than its remaining steps (restart.hpp) is not paused.
    Verdict report(std::int64_t trial, Report report, bool checkpoints = false);
    /// The last step of the budget completes a trial only if the trial has a value. Otherwise its end may bring one. As
    /// report(), but the last step of the budget leaves the trial running, as its end is reported explicitly.
    Verdict report_until_told(std::int64_t trial, Report report);
    /// Judges the last stored step again, since a killed session may have stored a step without its verdict. For trials
    /// that are neither ended nor paused. The first verdict of the rules stands.
    Verdict judge(std::int64_t trial);
    /// Replaces the reason of an ended trial, after a later diagnosis. Does not call listeners.
    void amend(std::int64_t trial, const std::string& reason);
    void finish(std::int64_t trial, TrialState state, const std::string& rule, const std::string& reason);
    /// Ends a trial as stopped by the user.
    void stop_for_user(std::int64_t trial);
    /// Stores that the user has stopped a running trial whose next step is still to be kept: it is paused by the user
    /// (is_stopping) until stop_for_user() or end_stopping(). The start of a session ends those of a killed one.
    void stop_after_report(std::int64_t trial);
    /// Ends the trials whose next step has not come, as stopped by the user, or as complete after all their steps.
    void end_stopping();
    /// Completes a running trial with this last step, which may replace the last reported one. The trial ends as
    /// diverged if the step has diverged, and as failed if the step lacks a metric that trials are judged by.
    void complete(std::int64_t trial, Report last);
    void requeue(std::int64_t trial, Outcome outcome, bool charged, const std::string& reason);
    /// Promotes a paused trial: queues it again, to resume.
    void promote(std::int64_t trial);
    /// Returns at most `most` paused trials that the rules promote, the most promising first. `last`: no new trials
    /// will come.
    [[nodiscard]] std::vector<std::int64_t> promotions(bool last, std::size_t most);
    /// Ends at most `most` paused trials as stopped, when the study is over, but none that is_stopping. Returns their
    /// numbers; fewer than `most` if no more are paused.
    std::vector<std::int64_t> close_paused(std::size_t most);

    /// Called with each new entry when it is applied and counted by results(), possibly before it is stored. Not called
    /// during replay().
    using Listener = std::function<void(const StoredEvent&)>;
    Listener on_event;
    /// Called instead for paused trials that end with the study, as they may be many.
    Listener on_end_with_study;

    /// Called with each trial that joins or leaves queued(), also during replay(); possibly with unchanged ones.
    std::function<void(std::int64_t trial, bool queued)> on_queue_change;

    [[nodiscard]] const StudyRecord& record() const { return record_; }
    /// Returns the record as the next session will read it: without entries that a failed store did not take.
    [[nodiscard]] StudyRecord stored_record() const&;
    /// The same by moving the record out of the ledger.
    [[nodiscard]] StudyRecord stored_record() &&;
    /// Returns the numbers of unfinished trials, ascending, so that decisions do not depend on the number of ended
    /// ones.
    [[nodiscard]] const std::set<std::int64_t>& unfinished() const { return unfinished_; }
    /// Returns the numbers of queued trials, ascending.
    [[nodiscard]] const std::set<std::int64_t>& queued() const { return queued_; }
    /// Returns the best trial, as best_trial() (standing.hpp) defines it.
    [[nodiscard]] const TrialRecord* best() const;
    /// Returns the end of an unfinished trial as a stopping rule predicts it from the curve, up to the last step at
    /// which the rule looked. Nothing if no rule predicts ends, or if curves of this study have not proved predictive.
    [[nodiscard]] std::optional<double> predicted_end(std::int64_t trial) const;
    /// Returns the number of trials since the last improvement (tries.hpp), for `budget.patience`.
    [[nodiscard]] std::int64_t tried_since_best() const { return tries_.since_best(); }

   private:
    void enter(const Event& event);
    StoredEvent store(const Event& event, bool waits);
    void stored(const Result<void>& outcome);
    void tell(const StoredEvent& stored) const;
    void take(std::int64_t trial, Report report);
    void learn(const StoredEvent& stored);
    Verdict judge(std::int64_t trial, std::optional<bool> checkpoints);
    Verdict judged_by_rules(std::int64_t trial);
    void teach_paused();
    void teach(const TrialRecord& trial);
    void changed(const Event& event);
    void set_queued(std::int64_t trial, bool queued);
    void seed_ended(const TrialRecord& trial);
    void forget_if_ended(const Event& event);
    /// Returns true if trials since the last improvement are counted. Simulations need them only for `budget.patience`.
    [[nodiscard]] bool counts_tries() const { return !forgets_ended_ || study_.budget.patience.has_value(); }

    const Study& study_;
    Store& store_;
    BackgroundProposer proposer_;
    Rules rules_;
    StepMarks marks_;
    Restarts restarts_;
    Race race_;
    Tries tries_;
    StudyRecord record_;
    std::set<std::int64_t> unfinished_;
    std::set<std::int64_t> queued_;
    /// Paused trials that no rule holds, since the study had other rules. They are promoted.
    mutable std::vector<std::int64_t> unheld_;
    std::int64_t forecasts_ = 0;    ///< number of forecasts of the rules that the proposer has begun to learn
    std::int64_t taught_upto_ = 0;  ///< last paused trial that was passed to the proposer again
    std::unordered_set<std::int64_t> changed_;  ///< trials changed since the last summary; 0: the study
    std::optional<SeenData> seen_data_;         ///< loaded when the first trial begins
    bool waits_for_commits_ = false;
    bool forgets_ended_ = false;
    bool steps_wait_ = false;             ///< steps wait to be stored
    bool commit_due_ = false;             ///< other entries than steps wait
    bool exhausted_ = false;              ///< the space has no further configuration
    std::optional<std::string> failure_;  ///< error of a failed commit
};

}  // namespace hpo
