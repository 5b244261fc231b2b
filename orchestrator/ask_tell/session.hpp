// A study whose trials somebody else trains: who asks is given trials, and reports and tells what became of them. The
// sampler, the rules and the books are those of `hpo run`; what a worker's messages are to the engine, these calls are
// here. No I/O but the ledger's store.
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

/// A trial that is given out.
struct Offer {
    std::int64_t trial = 0;
    Params params;
    std::int64_t resume_from = 0;  ///< its last step that was reported; 0: it begins
};

struct Offers {
    std::vector<Offer> trials;
    bool done = false;   ///< the study is over: no ask will be given another one
    std::string reason;  ///< why there are fewer than were asked for, as text; empty: there are as many
};

/// What became of a trial that was told.
struct Told {
    TrialState state = TrialState::complete;  ///< diverged where a value that is not finite was told
    std::string reason;
};

/// One session, not thread-safe. Whatever is refused has changed nothing. Where the store fails StoreFailed is thrown:
/// what was stored before it stays, and the same call may be made again.
class Session {
   public:
    /// The ledger is replayed, and its session has started. All outlive the session.
    Session(const Study& study, Ledger& ledger, const Clock& clock);

    /// `count` trials at most: those an earlier session left behind, paused ones that may go on, new ones.
    Offers ask(std::int64_t count);

    /// A step of a trial that was given out, judged. The verdict's action is stop where the trial has ended, and pause
    /// where it may come back from a later ask.
    Result<Verdict> report(std::int64_t trial, std::int64_t step, Metrics values);

    /// The end of a trial that was given out: it is complete, with `values` as its last numbers, or it failed.
    Result<Told> complete(std::int64_t trial, Metrics values);
    Result<Told> fail(std::int64_t trial, Metrics values, const std::string& reason);

    /// The best trial so far; nullptr: none has a value.
    [[nodiscard]] const TrialRecord* best() const { return ledger_.best(); }
    /// As front_of (standing.hpp).
    [[nodiscard]] std::vector<const TrialRecord*> front() const { return front_of(ledger_.record(), study_.objective); }
    [[nodiscard]] const Study& study() const { return study_; }

    /// Trials that are out are kept: those that have reported all their steps are complete, the others are offered
    /// again by the next session.
    void end(const std::string& reason);
    /// Whether nothing is left to do.
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
    double seconds_before_;                          ///< of earlier sessions
    std::map<std::int64_t, std::int64_t> reported_;  ///< last step of each trial that is out, in this session
};

}  // namespace hpo::ask_tell
