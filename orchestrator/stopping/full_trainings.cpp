#include "orchestrator/stopping/full_trainings.hpp"

#include <algorithm>
#include <cmath>

namespace hpo {

namespace {
constexpr double tells_all = 0.5;   // correlation from which full trainings get the least share
constexpr double untold = 0.45;     // prior correlation, used until trials have passed the next rung
constexpr double prior_trials = 5;  // weight of the prior and of the model's estimate, in trials with known ends
constexpr std::size_t recent_ends = 50;
}  // namespace

double FullTrainings::share(const CurveModel& model, std::size_t rung) const {
    const double predicted = model.tells(rung) > 0 ? model.tells(rung) : untold;
    const double count = std::max(0.0, static_cast<double>(ends_.size()) - 1);  // one end has no order
    const double tells =
        (prior_trials * (predicted + untold) + count * concordance(model)) / (2 * prior_trials + count);
    return std::clamp(1 - tells / tells_all, least, most);
}

/// Returns the concordance of predicted and real ends of full trainings, from 0 to 1. It is the weight of the
/// concordant pairs minus that of the discordant pairs, relative to the weight of all pairs. A pair is weighted by
/// the distance of its ends, so trials that end alike hardly count.
double FullTrainings::concordance(const CurveModel& model) const {
    double order = 0, sum = 0;
    const std::size_t from = ends_.size() > recent_ends ? ends_.size() - recent_ends : 0;
    for (std::size_t i = from; i < ends_.size(); ++i)
        for (std::size_t j = from; j < i; ++j) {
            const auto [a, x] = ends_[i];
            const auto [b, y] = ends_[j];
            const double apart = std::abs(model.bounded_end(x) - model.bounded_end(y));
            sum += apart;
            order += a == b ? 0 : (a < b) == (x < y) ? apart : -apart;
        }
    return sum > 0 ? std::max(0.0, order / sum) : 0;
}

}  // namespace hpo
