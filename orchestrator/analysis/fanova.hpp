// Functional analysis of variance: the share of a metric's variance over the whole space that each parameter explains
// alone (Hutter, Hoos, Leyton-Brown: "An efficient approach for assessing hyperparameter importance", ICML 2014).
//
// A forest is fitted to the trials. Its marginal means are taken over the declared space, not over the trials, so the
// distribution of the sampled points affects only the accuracy of the estimate.
//
// A forest fits noise, and the variance of its predictions is never negative. A parameter without effect would
// therefore appear to have one. To avoid this bias the trials are split at random into two halves, repeatedly, and the
// variance of a parameter's means is estimated by the covariance of the two halves' means. Noise that only one half has
// fitted does not contribute to it.
#pragma once

#include <cstdint>
#include <vector>

#include "orchestrator/analysis/forest.hpp"

namespace hpo::analysis {

struct Share {
    double share = 0;      ///< share of the variance, at least 0
    double deviation = 0;  ///< one standard deviation over the random splits
    /// Returns true if the share is significant: above 2 % and more than two deviations above 0.
    [[nodiscard]] bool sure() const { return share > 2 * deviation && share >= 0.02; }
};

struct PairShare {
    std::size_t first = 0, second = 0;
    Share share;  ///< the share that the two explain together, beyond what each explains alone
};

struct Variance {
    /// The fraction of the variance in one half of the trials that the forest of the other half predicts. At most 1.
    /// Negative if the forest predicts worse than the mean does.
    double explained = 0;
    std::vector<Share> alone;      ///< by dimension
    std::vector<PairShare> pairs;  ///< pairs of the dimensions with the largest shares, largest first
};

constexpr std::size_t fewest_trials = 16;

/// Analyses the trials. The result depends only on the arguments. Requires at least `fewest_trials` trials.
Variance analyse(const BinnedTrials& trials, std::uint64_t seed);

}  // namespace hpo::analysis
