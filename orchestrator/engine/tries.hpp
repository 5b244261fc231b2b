// Counts trials since the last improvement, for `budget.patience`.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "hpo/standing.hpp"
#include "hpo/study.hpp"
#include "hpo/trial.hpp"

namespace hpo {

class Tries {
   public:
    explicit Tries(const Objective& objective) : objective_(objective) {}

    /// Takes in a trial that has ended or paused. `counts`: the number is needed.
    void tried(const TrialRecord& trial, bool counts);
    /// The value of a trial has changed, as the mean over further seeds. A later trial must beat the new value.
    void revalued(const TrialRecord& trial);
    /// Returns the number of trials that ended, or were first paused, since the best value or the Pareto front last
    /// improved. Paused trials count, as those of asha may end only with the study.
    [[nodiscard]] std::int64_t since_best() const { return since_best_; }

   private:
    const Objective& objective_;
    std::map<std::int64_t, Standing> front_;  ///< Pareto front of the trials that were tried
    std::int64_t since_best_ = 0;
    std::set<std::int64_t> paused_since_best_;  ///< unfinished ones among them
};

}  // namespace hpo
