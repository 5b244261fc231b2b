#include "orchestrator/simulation/time_left.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "orchestrator/simulation/future.hpp"

namespace hpo {
namespace {

/// The factor by which the range is wider than the simulations on either side, since they draw from a sample.
constexpr double sample_margin = 1.25;
/// The factor if trials pause at rungs, where each new arrival changes which trials are promoted.
constexpr double rung_margin = 1.5;

/// Returns the most steps that a trial has trained to its own end; 0 if none has.
std::int64_t most_steps_of(const StudyRecord& record) {
    std::int64_t most = 0;
    for (const TrialRecord& trial : record.trials)
        if (trial.state == TrialState::complete) most = std::max(most, trial.steps());
    return most;
}

}  // namespace

std::optional<TimeLeft> time_left(const Study& study, const StudyRecord& record, double held_seconds) {
    std::optional<TimeLeft> left;
    // Trials that end by themselves are taken to have as many steps as the longest complete trial before them.
    Study closed = study;
    if (study.budget.open) closed.budget.epochs = most_steps_of(record);
    if (closed.budget.epochs == 0) {
        // no trial has ended
    } else if (const Past past(closed, record, held_seconds); past.can_estimate() && held_seconds > 0) {
        const auto futures = draw_futures(closed, past);
        const auto quantile = [&](double share) {
            return futures[static_cast<std::size_t>(share * static_cast<double>(futures.size() - 1))];
        };
        const double mean = std::accumulate(futures.begin(), futures.end(), 0.0) / static_cast<double>(futures.size());
        const double margin = past.rungs.empty() ? sample_margin : rung_margin;
        left = TimeLeft{quantile(0.05) / margin, quantile(0.95) * margin, mean};
    }
    if (study.budget.seconds) {
        const double budget = std::max(0.0, *study.budget.seconds - held_seconds);
        left = left ? TimeLeft{std::min(left->least, budget), std::min(left->most, budget),
                               std::min(left->expected, budget)}
                    : TimeLeft{0, budget, budget};
    }
    return left;
}

}  // namespace hpo
