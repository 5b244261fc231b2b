// Successive halving with promotions, the common part of asha, hyperband and pasha (Li et al.: "A system for massively
// parallel hyperparameter tuning", MLSys 2020).
//
// Rungs are at grace, grace * factor, grace * factor^2, ... steps, below the budget of a trial. Let n be the number of
// trials that have reached a rung so far. The rung's quota is floor(n / factor) trials. A trial that reaches the rung
// continues if it ranks within the quota, and if a place is free that no better paused trial waits for. Otherwise it
// pauses and is promoted when such a place becomes free. No trial waits for a rung to fill.
//
// Counting the places that are taken is the delay of D-ASHA (Li, Shen, Jiang, Zhang et al.: "Hyper-Tune: towards
// efficient hyper-parameter tuning at scale", PVLDB 15(6), 2022). A sampler that learns proposes better and better
// trials, so nearly every one ranks among the best on arrival. Without the count more than half of them continued,
// instead of a third.
//
// While further trials are expected, a rung with fewer than `factor` trials promotes none. When no further trials are
// expected, the rankings are final. Then all of the best floor(n / factor) trials of a rung may continue, regardless of
// the places taken before, and at least the best one of each rung. So the best trial of the last rung is trained to the
// full budget in a study of any size.
//
// A trial's value at a rung is the objective up to that step: the best or the last value, as `at` says. A trial whose
// report has no value continues, and is ranked at its next report with a value.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "orchestrator/stopping/objective_so_far.hpp"
#include "orchestrator/stopping/rule.hpp"
#include "orchestrator/stopping/rung.hpp"

namespace hpo {

// Options of asha and pasha.
inline constexpr Option first_rung_option{"grace", OptionType::integer, 1, 1e9, {}, "1", "steps to the first rung"};
inline constexpr Option factor_option{"factor",
                                      OptionType::integer,
                                      2,
                                      1000,
                                      {},
                                      "3",
                                      "reduction factor: the best 1/factor advance; rungs are factor times apart"};

class Halving : public StoppingRule {
   public:
    /// `name` is the rule's name in the study file.
    Halving(std::string name, const Objective& objective, const std::vector<std::int64_t>& steps, std::size_t factor,
            std::string unit);

    void expect_trials(bool more) override { more_ = more; }
    [[nodiscard]] std::vector<std::int64_t> promotions(std::size_t most) const override;
    [[nodiscard]] bool holds(std::int64_t trial) const override { return waiting_.contains(trial); }
    [[nodiscard]] std::vector<Gate> gates() const override;
    [[nodiscard]] std::string verdict_on_paused(std::int64_t trial) const override;
    [[nodiscard]] std::string plan(const std::string& unit) const override;
    void went_back(std::int64_t trial) override { value_.forget(trial); }

   protected:
    /// Returns the number of rungs in force. At the last of them trials wait until the next rung comes into force or
    /// the study ends.
    [[nodiscard]] virtual std::size_t in_force() const { return rungs_.size(); }
    /// Called when a trial has been ranked at a rung, before it is judged.
    virtual void arrived(const TrialRecord& trial, std::size_t rung) { (void)trial, (void)rung; }

    [[nodiscard]] const std::vector<Rung>& rungs() const { return rungs_; }
    [[nodiscard]] const WatchedMetric& metric() const { return value_.metric(); }
    [[nodiscard]] std::size_t factor() const { return factor_; }

    Verdict judge(const TrialRecord& trial) override;
    void on_end(const TrialRecord& trial) override;
    void on_promotion(std::int64_t trial) override;

   private:
    /// The rung and rank entry of a paused trial.
    struct Waiting {
        std::size_t rung = 0;
        Ranked entry;
    };

    void leave(std::int64_t trial);
    /// Returns true if trials wait at this rung for the next one to come into force.
    [[nodiscard]] bool is_edge(std::size_t rung) const { return in_force() < rungs_.size() && rung + 1 == in_force(); }
    [[nodiscard]] std::string standing(const Waiting& at, bool past) const;

    std::string name_;
    std::string unit_;  ///< the name of a step in reasons
    ObjectiveSoFar value_;
    std::size_t factor_;
    std::vector<Rung> rungs_;
    std::unordered_map<std::int64_t, std::size_t> reached_;  ///< the number of rungs reached, by trial
    std::unordered_map<std::int64_t, Waiting> waiting_;      ///< paused trials
    bool more_ = true;
};

}  // namespace hpo
