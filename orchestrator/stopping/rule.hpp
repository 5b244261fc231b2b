// The seam of all stopping rules. Pure: no I/O, no clock; a rule's state is a function of the calls made to it, so that
// replaying a study's events rebuilds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "hpo/messages.hpp"
#include "hpo/trial.hpp"

namespace hpo {

struct Verdict {
    to_worker::Action action = to_worker::Action::go_on;
    std::string rule;      ///< its name in the study file; empty: go on
    std::string reason;    ///< as text, with the numbers
    bool lasting = false;  ///< other trials are judged by this report: it is needed again when the study goes on,
                           ///< though its own trial has ended
};

/// A step at which trials pause, and of those that reach it the share that goes on in the end.
struct Gate {
    std::int64_t step = 0;
    double share = 1;
    bool certain = true;  ///< false: trials pause there only in some studies, by what the rule has seen
};

/// Where an unfinished trial is expected to end.
struct Forecast {
    double value = 0;      ///< of the objective, at the trial's end
    double deviation = 0;  ///< one standard deviation
    bool tells = true;     ///< false: its curve so far says too little to learn from it
};

/// Not thread-safe. Every rule meets the same promises (tests/contract/stopping): it never acts before its grace, never
/// on a metric that is missing or not finite (but divergence, whose business that is), and judges each step once.
class StoppingRule {
   public:
    virtual ~StoppingRule() = default;

    /// A step was stored: `trial.curve.back()`. A step may be reported again (a resumed attempt repeats the steps after
    /// its checkpoint): the answer stays the one given first, but that a promoted trial goes on where it was paused.
    Verdict report(const TrialRecord& trial) {
        Judged& judged = judged_[trial.number];
        if (trial.steps() > judged.step) {
            judged = {trial.steps(), judge(trial)};
            return judged.verdict;
        }
        went_back(trial.number);
        Verdict again = trial.steps() < judged.step ? Verdict{} : judged.verdict;
        again.lasting = true;
        return again;
    }

    /// Steps that were judged are reported again, perhaps with other values. `report` says so itself.
    virtual void went_back(std::int64_t trial) { (void)trial; }

    /// A trial ended for good (any final state).
    void ended(const TrialRecord& trial) {
        judged_.erase(trial.number);
        on_end(trial);
    }

    /// A paused trial was queued again.
    void promoted(std::int64_t trial) {
        judged_[trial].verdict = {};
        on_promotion(trial);
    }

    /// Whether the study will propose further trials (its budget of trials, its patience or its space may be used up).
    /// Changes what is promotable, never a verdict: a resumed study need not know when it was said before.
    virtual void expect_trials(bool more) { (void)more; }

    /// Paused trials that may go on now, the most promising first, `most` of them. Asked whenever a worker is free,
    /// before a new trial is proposed.
    [[nodiscard]] virtual std::vector<std::int64_t> promotions(std::size_t most = all) const {
        (void)most;
        return {};
    }
    static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

    /// Whether a paused trial waits for this rule.
    [[nodiscard]] virtual bool holds(std::int64_t trial) const {
        (void)trial;
        return false;
    }

    /// Where it pauses trials, by step; empty: nowhere. For forecasts.
    [[nodiscard]] virtual std::vector<Gate> gates() const { return {}; }
    /// Where it pauses trials and how many go on, for `hpo check`; `unit` of steps: epoch, or step. Empty: nowhere.
    [[nodiscard]] virtual std::string plan(const std::string& unit) const {
        (void)unit;
        return {};
    }
    /// The least share of all steps that belongs to trials which it trains in full, whatever their curves look like.
    [[nodiscard]] virtual double least_full_share() const { return 0; }

    /// Where a trial that it paused would end; absent: the rule does not know better than its value so far.
    [[nodiscard]] virtual std::optional<Forecast> forecast(std::int64_t trial) const {
        (void)trial;
        return std::nullopt;
    }
    /// Counts up whenever forecasts have changed for trials that did not report.
    [[nodiscard]] virtual std::int64_t forecasts_made() const { return 0; }

    /// A paused trial will not go on any more (the study ends): why, as text; empty: not this rule's trial.
    [[nodiscard]] virtual std::string verdict_on_paused(std::int64_t trial) const {
        (void)trial;
        return {};
    }

   private:
    /// The verdict on the last step, which was not judged before. A study may have 100,000 steps a trial: what is
    /// needed of the earlier ones is remembered (followed.hpp), not read again.
    virtual Verdict judge(const TrialRecord& trial) = 0;
    virtual void on_end(const TrialRecord& trial) { (void)trial; }
    virtual void on_promotion(std::int64_t trial) { (void)trial; }

    struct Judged {
        std::int64_t step = 0;
        Verdict verdict;
    };
    std::unordered_map<std::int64_t, Judged> judged_;
};

}  // namespace hpo
