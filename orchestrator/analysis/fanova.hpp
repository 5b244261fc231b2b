// Functional analysis of variance: the share of a metric's variance over the whole space that each parameter explains
// alone (Hutter, Hoos, Leyton-Brown: "An efficient approach for assessing hyperparameter importance", ICML 2014).
//
// Trees are fitted to the trials (boosted_trees.hpp). Their marginal means are taken over the declared space, not over
// the trials, so the distribution of the sampled points affects only the accuracy of the estimate.
//
// Trees fit noise, and the variance of their predictions is never negative. A parameter without effect would therefore
// appear to have one. To avoid this bias the trials are split at random into two halves, repeatedly, and the variance
// of a parameter's means is estimated by the covariance of the two halves' means. Noise that only one half has fitted
// does not contribute to it.
//
// The deviation of a share is how far the shares from random halves of the trials lie from it (McCarthy:
// "Pseudo-replication: half samples", 1969). It covers which trials were drawn. As shares from fewer trials understate
// weak parameters more, it also grows with that bias.
#pragma once

#include <cstdint>
#include <vector>

#include "orchestrator/analysis/boosted_trees.hpp"

namespace hpo::analysis {

struct Share {
    double share = 0;      ///< share of the variance, at least 0
    double deviation = 0;  ///< one standard deviation, at most 1
    /// Returns true if the share is significant: above 2 % and more than two deviations above 0.
    [[nodiscard]] bool sure() const { return share > 2 * deviation && share >= 0.02; }
};

struct PairShare {
    std::size_t first = 0, second = 0;
    Share share;  ///< the share that the two explain together, beyond their own shares
};

struct Variance {
    /// The fraction of the variance in one half of the trials that the trees of the other half predict. At most 1.
    /// Negative if they predict worse than the mean does.
    double explained = 0;
    std::vector<Share> alone;      ///< by dimension
    std::vector<PairShare> pairs;  ///< pairs of the dimensions with the largest shares, largest first
};

constexpr std::size_t fewest_trials = 16;
constexpr int many_splits = 24, few_splits = 8;

/// Analyses the trials. The result depends only on the arguments. Requires at least `fewest_trials` trials. Pairs are
/// found only `with_pairs`, as they take most of the time. Averages over `splits` random splits of the trials, and for
/// each random half of the trials over a quarter as many.
Variance analyse(const BinnedTrials& trials, std::uint64_t seed, bool with_pairs = true, int splits = many_splits);

}  // namespace hpo::analysis
