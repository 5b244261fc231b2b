// A study whose trials the caller trains. The caller asks for trials, reports their steps and tells their results. The
// sampler, the rules and the ledger are the same as in `hpo run`. These calls take the place of a worker's messages.
// The only I/O is that of the ledger's store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/engine/ledger.hpp"
#include "orchestrator/engine/supply.hpp"

namespace hpo::ask_tell {

/// A trial that is handed out to the caller.
struct Offer {
    std::int64_t trial = 0;
    Params params;
    std::int64_t repeat_of = 0;    ///< as in TrialRecord
    std::int64_t resume_from = 0;  ///< the last step that was reported; 0 for a trial that begins
};

struct Offers {
    std::vector<Offer> trials;
    bool done = false;   ///< true if the study is over, so that no later call returns a trial
    std::string reason;  ///< the reason why there are fewer trials than requested; empty if there are not fewer
};

/// The state of a trial after its end was told.
struct Told {
    TrialState state = TrialState::complete;  ///< diverged if the told value is not finite
    std::string reason;
};

/// A session. Not thread-safe. A call that returns an error has changed nothing. All calls throw StoreFailed if the
/// store fails. Events stored before the failure are kept, and the call may be repeated.
class Session {
   public:
    /// The ledger must have been replayed and its session started. All arguments must outlive the session.
    Session(const Study& study, Ledger& ledger, const Clock& clock);

    /// Returns at most `count` trials: first those left by an earlier session, then promoted ones, then new ones.
    Offers ask(std::int64_t count);

    /// Stores and judges a step of a trial that was handed out. The verdict's action is `stop` if the trial has ended,
    /// and `pause` if a later call of ask() may return it again. Fails if the trial is not running or the step is out
    /// of range or order.
    Result<Verdict> report(std::int64_t trial, std::int64_t step, Metrics values);

    /// Ends a trial that has not ended, as stopped by the user. A running trial is no longer waited for; it ends with
    /// its next report, which is kept and has the verdict `stop`, or with the session, or when the next session starts
    /// after a kill. If the program reports its end before, that end is stored. Fails if there is no such trial, or if
    /// it has ended.
    Result<void> stop(std::int64_t trial);
    /// Hands out no more trials in this session; those that are handed out go on to their ends.
    void stop() { stopping_ = true; }
    /// Returns the number of trials that are handed out.
    [[nodiscard]] std::int64_t running() const { return count_of(TrialState::running); }

    /// Ends a trial that was handed out, as complete or as failed. `values` are its final metrics. Fails if the trial
    /// is not running, or if a complete trial has no value of the objective.
    Result<Told> complete(std::int64_t trial, Metrics values);
    /// Ends a trial that its own program gave up, as stopped with what it has reported, or as complete if that is its
    /// last step. `values` are its final metrics. Fails if the trial is not running or has no value of the objective.
    Result<Told> give_up(std::int64_t trial, Metrics values, const std::string& reason);
    Result<Told> fail(std::int64_t trial, Metrics values, const std::string& reason);

    /// Returns the best trial so far, or nullptr if no trial has a value.
    [[nodiscard]] const TrialRecord* best() const { return ledger_.best(); }
    /// Returns the Pareto front; see front_of (standing.hpp).
    [[nodiscard]] std::vector<const TrialRecord*> front() const { return front_of(ledger_.record(), study_.objective); }
    /// Returns all trials, by number.
    [[nodiscard]] const std::deque<TrialRecord>& trials() const { return ledger_.record().trials; }
    [[nodiscard]] const Study& study() const { return study_; }

    /// Ends the session; `why` gives the reason if its study is not over. Running trials that have reported all
    /// their steps are completed. The next session hands out the others again.
    void end(const std::string& why);
    /// Returns true if no work is left: the time budget is used up, or no trial is running, queued or can start.
    [[nodiscard]] bool over() const;

   private:
    [[nodiscard]] Result<void> take(std::int64_t trial);
    void launch(std::int64_t trial);
    [[nodiscard]] std::string why_fewer() const;
    [[nodiscard]] std::int64_t count_of(TrialState state) const;
    [[nodiscard]] bool out_of_time() const;

    const Study& study_;
    Ledger& ledger_;
    const Clock& clock_;
    Supply supply_;
    Seconds began_;
    double seconds_before_;                          ///< duration of all earlier sessions
    std::map<std::int64_t, std::int64_t> reported_;  ///< last step that each running trial reported in this session
    bool stopping_ = false;
};

}  // namespace hpo::ask_tell
