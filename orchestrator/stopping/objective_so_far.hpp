// The value by which rules that pause trials compare them: the objective up to a step, its best or its last value.
#pragma once

#include <cstdint>
#include <optional>

#include "orchestrator/stopping/followed.hpp"
#include "orchestrator/stopping/metric.hpp"

namespace hpo {

class ObjectiveSoFar {
   public:
    explicit ObjectiveSoFar(const Objective& objective)
        : metric_{objective.metric, objective.direction}, at_(objective.at), best_({.metric = metric_, .value = {}}) {}

    [[nodiscard]] const WatchedMetric& metric() const { return metric_; }

    /// Returns the value after the last report, or nothing if that has none.
    [[nodiscard]] std::optional<double> of(const TrialRecord& trial) {
        const auto last = metric_(trial.curve.back());
        if (at_ == Objective::At::last) return last;
        // A resumed study does not read all steps of ended trials, but their records contain the value.
        return !last ? last : trial.value ? trial.value : best_.at(trial).value;
    }

    /// Negates values of an objective that is maximized, so that smaller is better, and back.
    [[nodiscard]] double oriented(double value) const {
        return metric_.direction == Direction::minimize ? value : -value;
    }

    /// See Followed::forget().
    void forget(std::int64_t trial) { best_.forget(trial); }

   private:
    WatchedMetric metric_;
    Objective::At at_;
    Followed<BestValue> best_;
};

}  // namespace hpo
