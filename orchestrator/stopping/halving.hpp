// Successive halving, by promotion: what asha, hyperband and pasha have in common (Li et al.: "A system for massively
// parallel hyperparameter tuning", MLSys 2020).
//
// Rungs stand at grace, grace factor, grace factor^2, ... steps, below the budget of a trial. Of the n trials that have
// reached a rung so far floor(n / factor) have places above it. A trial that reaches it goes on if it is among the best
// so many and a place is free that no better one waits for; else it pauses, and is promoted when there is one. Nobody
// waits for a rung to fill.
//
// That the places are counted is the delay of D-ASHA (Li, Shen, Jiang, Zhang et al.: "Hyper-Tune: towards efficient
// hyper-parameter tuning at scale", PVLDB 15(6), 2022). A sampler that learns proposes ever better trials: nearly each
// of them is among the best when it comes, and without the count more than half of all went on, not a third.
//
// The end of a study: while further trials are expected, a rung of fewer than `factor` trials promotes nobody. When
// none is expected any more, the rankings are final: all of the best floor(n / factor) of a rung may go on, whoever had
// the places before, and the best of every rung. So each rung's best moves up, and the best trial of the last rung is
// trained to the full budget however small the study is.
//
// A trial's value at a rung is the objective's up to there: the best of its steps, or the last one (`at`). A trial
// whose report has no value goes on and is ranked when one does.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "orchestrator/stopping/followed.hpp"
#include "orchestrator/stopping/metric.hpp"
#include "orchestrator/stopping/rule.hpp"

namespace hpo {

/// Steps first, first factor, first factor^2, ... below `steps`.
std::vector<std::int64_t> rung_steps(std::int64_t first, std::int64_t factor, std::int64_t steps);

/// "epochs 1, 3 and 9"; `unit`: epoch or step.
std::string rungs_text(const std::vector<std::int64_t>& steps, const std::string& unit);

/// Returns true if fewer than `count` entries are before `entry`. Takes time by `count`, however many entries there
/// are.
template <class Entry>
bool fewer_before(const std::set<Entry>& entries, const Entry& entry, std::size_t count) {
    auto next = entries.begin();
    for (; count > 0; --count, ++next)
        if (next == entries.end() || !(*next < entry)) return true;
    return false;
}

class Halving : public StoppingRule {
   public:
    /// `name`: the rule's in the study file.
    Halving(std::string name, const Objective& objective, const std::vector<std::int64_t>& steps, std::size_t factor,
            std::string unit);

    void expect_trials(bool more) override { more_ = more; }
    [[nodiscard]] std::vector<std::int64_t> promotions(std::size_t most) const override;
    [[nodiscard]] bool holds(std::int64_t trial) const override { return waiting_.contains(trial); }
    [[nodiscard]] std::vector<Gate> gates() const override;
    [[nodiscard]] std::string verdict_on_paused(std::int64_t trial) const override;
    [[nodiscard]] std::string plan(const std::string& unit) const override;
    void went_back(std::int64_t trial) override { best_.forget(trial); }

   protected:
    /// A trial at a rung, with its value oriented so that smaller is better.
    struct Entry {
        double loss = 0;
        std::int64_t trial = 0;
        friend auto operator<=>(const Entry&, const Entry&) = default;
    };
    struct Rung {
        std::int64_t step = 0;
        std::vector<Entry> ranking;  ///< all that reached it, best first
        std::set<Entry> paused;      ///< those of them that wait here
        std::size_t gone_on = 0;     ///< those of them that went on, at once or promoted
    };

    /// How many of the rungs are in force: at the last of them trials wait until the next one is, or the study ends.
    [[nodiscard]] virtual std::size_t in_force() const { return rungs_.size(); }
    /// A trial has been ranked at its rung, and is not judged yet.
    virtual void arrived(const TrialRecord& trial, std::size_t rung) { (void)trial, (void)rung; }

    [[nodiscard]] const std::vector<Rung>& rungs() const { return rungs_; }
    [[nodiscard]] const WatchedMetric& metric() const { return metric_; }
    [[nodiscard]] std::size_t factor() const { return factor_; }

    Verdict judge(const TrialRecord& trial) override;
    void on_end(const TrialRecord& trial) override;
    void on_promotion(std::int64_t trial) override;

   private:
    /// Where a trial waits.
    struct Waiting {
        std::size_t rung = 0;
        Entry entry;
    };

    void leave(std::int64_t trial);
    [[nodiscard]] std::size_t quota(const Rung& rung) const { return rung.ranking.size() / factor_; }
    [[nodiscard]] std::size_t free_places(const Rung& rung) const {
        return quota(rung) - std::min(quota(rung), rung.gone_on);
    }
    [[nodiscard]] std::size_t place(const Waiting& at) const;
    /// Whether trials wait there for the next rung to come into force.
    [[nodiscard]] bool is_edge(std::size_t rung) const { return in_force() < rungs_.size() && rung + 1 == in_force(); }
    [[nodiscard]] std::optional<double> value_of(const TrialRecord& trial);
    [[nodiscard]] std::string standing(const Waiting& at, bool past) const;

    std::string name_;
    std::string unit_;  ///< of a step, in reasons
    Objective objective_;
    WatchedMetric metric_;
    std::size_t factor_;
    std::vector<Rung> rungs_;
    Followed<BestValue> best_;
    std::unordered_map<std::int64_t, std::size_t> reached_;  ///< trial to the number of rungs it has reached
    std::unordered_map<std::int64_t, Waiting> waiting_;      ///< paused trials
    bool more_ = true;
};

}  // namespace hpo
