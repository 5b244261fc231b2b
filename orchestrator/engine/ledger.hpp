// The ledger of a study: its stored events, and the sampler and rules that learn from them. An event is stored before
// anyone outside acts on it; opening the ledger again replays the events, which rebuilds everything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/standing.hpp"
#include "orchestrator/engine/race.hpp"
#include "orchestrator/engine/seen_data.hpp"
#include "orchestrator/sampling/background_proposer.hpp"
#include "orchestrator/stopping/restart.hpp"
#include "orchestrator/stopping/rules.hpp"
#include "orchestrator/store/store.hpp"

namespace hpo {

/// Thrown when the store fails (a full disk, an I/O error): the study ends at once, with nothing falsely done.
struct StoreFailed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Returns the last step of a trial with `values` added, which the trial's end has told: the step that it reported
/// last, or step `epochs` if it has reported none.
Report final_step(const TrialRecord& trial, const Metrics& values, std::int64_t epochs);

/// Not thread-safe. Every method that changes something throws StoreFailed and then has changed nothing, but for
/// reports that waited to be stored, which go on waiting, and for a commit that fails.
class Ledger {
   public:
    /// `store` must outlive the ledger. The proposer and the rules are fresh ones, made from the same study.
    Ledger(const Study& study, Store& store, Proposer proposer, Rules rules);

    /// Reads all entries that anything is learned from. Fails if they cannot be read or contradict each other.
    Result<void> replay();

    /// From now on entries wait for commit(), which stores those of a round of the loop as one transaction.
    void wait_for_commits() { waits_for_commits_ = true; }
    /// From now on trials that have ended keep their state and value alone: neither steps nor parameters. For a
    /// simulation of a million trials, of which nothing else is shown.
    void forget_ended() { forgets_ended_ = true; }
    /// To be called before a worker is answered, or anyone else outside acts on an entry. Steps alone are left to
    /// flush(), so that thousands a second are stored many at once. StoreFailed: there can be no further entries, and
    /// these are stored by settle(), or lost as when the process is killed.
    void commit();
    /// Whether steps wait to be stored; flush() is to be called some 50 ms later, which a kill may take.
    [[nodiscard]] bool waits() const { return steps_wait_; }
    /// Why there can be no further entries; nothing while there can.
    [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }
    void flush();
    /// Stores for viewers what trials have come to. Call it about once a second.
    void summarize();

    /// Stores what devices did.
    void add_telemetry(std::span<const TelemetryRow> rows);

    /// How many results were entered, and how many of them a loss of power cannot take: nobody is to be shown the
    /// others (announcements.hpp). The latter throws where the disk has failed.
    [[nodiscard]] std::int64_t results() const { return store_.results(); }
    [[nodiscard]] std::int64_t results_on_disk() const;
    /// `listener` is called in another thread when the latter has grown or would throw. Empty: nobody is.
    void when_on_disk(std::function<void()> listener) { store_.when_on_disk(std::move(listener)); }
    /// Stores what waits, and returns when all results are on the disk.
    void settle();

    void session_started(event::SessionStarted session);
    /// Settled when it returns.
    void session_ended(double seconds, const std::string& reason);

    /// A new trial, queued; nothing when the space is exhausted. With `ready`, a slow sampler computes it on another
    /// thread: 0 until it has done so, and `ready` is called from that thread.
    std::optional<std::int64_t> propose(const std::function<void()>& ready = {});
    /// Returns the first trial of the configuration that may still be the best and is to have a further seed
    /// (race.hpp); nothing if there is none.
    [[nodiscard]] std::optional<std::int64_t> to_repeat() const { return race_.next(); }
    /// A new trial, queued, that trains the configuration of the trial `first` with another seed.
    std::int64_t repeat(std::int64_t first);
    /// Trials that train a configuration again, and configurations.
    [[nodiscard]] std::int64_t repeats() const { return race_.further(); }
    [[nodiscard]] std::int64_t configurations() const {
        return static_cast<std::int64_t>(record_.trials.size()) - repeats();
    }
    /// Forgets what is computed on the other thread; `ready` is not called any more after this returns.
    void drop_proposal();
    [[nodiscard]] const BackgroundProposer& proposer() const { return proposer_; }
    /// The trial begins to train on the data with this fingerprint. Returns the first trial that had other data with
    /// the same parameters; 0 if there is none.
    std::int64_t saw_data(std::int64_t trial, const Params& params, const std::string& fingerprint);
    /// The next attempt of a queued trial; returns its number.
    std::int64_t launch(std::int64_t trial, const std::string& where, Allocation allocation);
    /// The most memory that a trial was seen to take.
    void measured(std::int64_t trial, Footprint peak);
    /// Final numbers that its script gave.
    void closing(std::int64_t trial, Metrics values);
    /// A step, judged: on stop, pause and completion the trial has already ended or paused in the ledger when this
    /// returns. `checkpoints`: the worker writes a checkpoint once it is answered, and the next commit stores the step:
    /// a checkpoint that is ahead of the record would resume behind steps that were never stored.
    /// A trial whose restart would take longer than its rest (restart.hpp) is not paused.
    Verdict report(std::int64_t trial, Report report, bool checkpoints = false);
    /// The last step of the budget completes a trial only if it has a value: otherwise its end may tell one.
    /// The same for a trial whose end is reported explicitly: the last step of its budget leaves it running.
    Verdict report_until_told(std::int64_t trial, Report report);
    /// The last stored step, judged again: a session that was killed may have stored a step but not what followed from
    /// it. For trials that have not ended and are not paused; the first verdict of the rules stands.
    Verdict judge(std::int64_t trial);
    /// What became known of a trial after it ended: `reason` replaces its own. Listeners are not called.
    void amend(std::int64_t trial, const std::string& reason);
    void finish(std::int64_t trial, TrialState state, const std::string& rule, const std::string& reason);
    /// A running trial is complete with this last step, which may replace the one that it reported last. It has
    /// diverged instead if the step has, and failed if the step lacks a metric that trials are judged by.
    void complete(std::int64_t trial, Report last);
    void requeue(std::int64_t trial, Outcome outcome, bool charged, const std::string& reason);
    /// A paused trial is promoted: it is queued again and resumes.
    void promote(std::int64_t trial);
    /// Paused trials that the rules let go on, the most promising first, `most` of them. `last`: no new trials will
    /// come.
    [[nodiscard]] std::vector<std::int64_t> promotions(bool last, std::size_t most);
    /// No new trials, nothing runs, nothing promotable: what is still paused ends as stopped, `most` trials at once.
    /// Returns those that ended; fewer than `most`: no more are paused.
    std::vector<std::int64_t> close_paused(std::size_t most);

    /// Called with each entry when it is applied and counted by results(), maybe before it is stored; not with replayed
    /// ones.
    using Listener = std::function<void(const StoredEvent&)>;
    Listener on_event;
    /// Called in its place for paused trials that end with the study: they may be many at once.
    Listener on_end_with_study;

    /// Called with each trial that joins or leaves queued(), also with replayed entries; maybe with one that does
    /// neither.
    std::function<void(std::int64_t trial, bool queued)> on_queue_change;

    [[nodiscard]] const StudyRecord& record() const { return record_; }
    /// The record as the next session will read it: without what a store that has failed did not take.
    [[nodiscard]] StudyRecord stored_record() const&;
    /// The same without a copy. The ledger has no record any more.
    [[nodiscard]] StudyRecord stored_record() &&;
    /// Numbers of the trials that have not ended, ascending: what a decision has to consider, however many have ended.
    [[nodiscard]] const std::set<std::int64_t>& unfinished() const { return unfinished_; }
    /// Those of them that are queued: under rules that pause, nearly all others wait for their promotion.
    [[nodiscard]] const std::set<std::int64_t>& queued() const { return queued_; }
    /// As best_trial (standing.hpp).
    [[nodiscard]] const TrialRecord* best() const;
    /// Trials that ended, or were paused for the first time, since the best value was reached, or the Pareto front was
    /// extended (for `budget.patience`): asha's paused ones may end only with the study.
    [[nodiscard]] std::int64_t tried_since_best() const { return static_cast<std::int64_t>(tried_since_best_.size()); }

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
    void tried(const TrialRecord& trial);
    void seed_ended(const TrialRecord& trial);
    void took_step(const StoredEvent& stored, const event::Reported& reported);
    void mark(std::int64_t sequence, SoFar so_far, std::int64_t trial = 0);
    void mark_end(const Event& event);
    void forget_if_ended(const Event& event);
    Result<void> complete_pictures();
    [[nodiscard]] std::string purpose_of_marks() const;

    const Study& study_;
    Store& store_;
    BackgroundProposer proposer_;
    Rules rules_;
    Restarts restarts_;
    Race race_;
    StudyRecord record_;
    std::set<std::int64_t> unfinished_;
    std::set<std::int64_t> queued_;
    /// Paused trials that no rule holds, since the study had other rules: they go on.
    mutable std::vector<std::int64_t> unheld_;
    std::int64_t forecasts_ = 0;              ///< of the rules, that the proposer has begun to learn
    std::int64_t taught_upto_ = 0;            ///< the last paused trial that was taught anew
    std::map<std::int64_t, Standing> front_;  ///< of the trials that were tried
    std::set<std::int64_t> tried_since_best_;
    std::unordered_set<std::int64_t> changed_;  ///< trials since the last summary; 0: the study
    struct Step {
        std::int64_t step = 0, sequence = 0;
    };
    std::unordered_map<std::int64_t, std::vector<Step>> steps_;  ///< curves of unfinished trials, in the store
    /// Of a replay of all steps, to be stored when the session begins.
    std::optional<std::vector<Mark>> marks_{std::in_place};
    std::optional<SeenData> seen_data_;  ///< once the first trial has begun
    bool replaying_ = false;
    bool waits_for_commits_ = false;
    bool forgets_ended_ = false;
    bool steps_wait_ = false;             ///< to be stored
    bool commit_due_ = false;             ///< what waits is more than steps
    std::optional<std::string> failure_;  ///< of a commit
};

}  // namespace hpo
