// The interface of all stopping rules. Rules do no I/O and read no clock. A rule's state depends only on the calls made
// to it, so replaying a study's events rebuilds it.
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
    std::string rule;      ///< the rule's name in the study file; empty if the trial continues
    std::string reason;    ///< a text with the numbers that led to the verdict
    bool lasting = false;  ///< true if other trials are judged by this report; its step is read again when the
                           ///< study is resumed, even if its own trial has ended
};

/// A step at which trials pause, and the share of the trials reaching it that eventually continue.
struct Gate {
    std::int64_t step = 0;
    double share = 1;
    bool certain = true;  ///< false if the rule pauses trials there only in some studies
};

/// The expected end of an unfinished trial.
struct Forecast {
    double value = 0;      ///< the objective at the trial's end
    double deviation = 0;  ///< one standard deviation
    bool tells = true;     ///< false if the curve so far predicts the end too poorly for a sampler to learn from it
    bool repeats = false;  ///< true if the trial repeats another one exactly, so that its proposal taught nothing
};

/// A stopping rule. Not thread-safe. All rules keep the same contract (tests/contract/stopping). A rule never acts
/// before its grace period. It never acts on a metric that is missing or not finite, except for `divergence`. It judges
/// each step once.
class StoppingRule {
   public:
    virtual ~StoppingRule() = default;

    /// Judges the step `trial.curve.back()`, which has been stored. A resumed attempt reports the steps after its
    /// checkpoint again. A repeated step gets its first verdict, except that a promoted trial continues at the step
    /// where it was paused.
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

    /// Called when steps that were judged before are reported again, possibly with other values. `report` calls it.
    virtual void went_back(std::int64_t trial) { (void)trial; }

    /// Called when a trial has reached a final state.
    void ended(const TrialRecord& trial) {
        judged_.erase(trial.number);
        on_end(trial);
    }

    /// Called when a paused trial has been queued again.
    void promoted(std::int64_t trial) {
        judged_[trial].verdict = {};
        on_promotion(trial);
    }

    /// Sets whether the study will propose further trials. It will not once its trial budget, its patience or its space
    /// is exhausted. This affects promotions but never a verdict, so replaying a study does not need to repeat it.
    virtual void expect_trials(bool more) { (void)more; }

    /// Returns at most `most` paused trials that may continue now, the most promising first. Called whenever a worker
    /// is free, before a new trial is proposed.
    [[nodiscard]] virtual std::vector<std::int64_t> promotions(std::size_t most = all) const {
        (void)most;
        return {};
    }
    static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

    /// Returns true if this rule has paused the trial and has not promoted it yet.
    [[nodiscard]] virtual bool holds(std::int64_t trial) const {
        (void)trial;
        return false;
    }

    /// Returns the steps at which the rule pauses trials, for forecasts.
    [[nodiscard]] virtual std::vector<Gate> gates() const { return {}; }
    /// Describes where the rule pauses trials and how many continue, for `hpo check`. Empty if it pauses none. `unit`
    /// is "epoch" or "step".
    [[nodiscard]] virtual std::string plan(const std::string& unit) const {
        (void)unit;
        return {};
    }
    /// Returns the minimum share of all steps that the rule spends on full trainings.
    [[nodiscard]] virtual double least_full_share() const { return 0; }

    /// Returns the expected end of an unfinished trial, or nothing if the rule makes no forecast for it.
    [[nodiscard]] virtual std::optional<Forecast> forecast(std::int64_t trial) const {
        (void)trial;
        return std::nullopt;
    }
    /// Returns a counter that increases whenever the forecasts of trials that did not report have changed.
    [[nodiscard]] virtual std::int64_t forecasts_made() const { return 0; }

    /// Returns the reason why a paused trial does not continue when the study ends. Empty if this rule has not paused
    /// the trial.
    [[nodiscard]] virtual std::string verdict_on_paused(std::int64_t trial) const {
        (void)trial;
        return {};
    }

   private:
    /// Returns the verdict on the last step, which has not been judged before. A trial may have 100,000 steps, so
    /// implementations keep a running state (followed.hpp) instead of reading the earlier steps again.
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
