// Budgets of a time without a number of trials: as many as the time allows.
#pragma once

#include <cstdint>

#include "hpo/study.hpp"

namespace hpo {

/// The largest budget.trials. Together with a time it stands for as many trials as the time allows.
inline constexpr std::int64_t most_trials = 1'000'000;

/// Returns true if the number of trials is not known beforehand: the budget states a time alone.
inline bool is_open_ended(const Budget& budget) { return budget.seconds && budget.trials == most_trials; }

/// Returns the number of trials that decides how many may run at once, so that later ones can learn from them: the
/// default one where the number is not known.
inline std::int64_t planned_trials(const Budget& budget) {
    return is_open_ended(budget) ? Budget().trials : budget.trials;
}

}  // namespace hpo
