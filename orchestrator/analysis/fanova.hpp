// Functional analysis of variance: what share of a metric's variance over the whole space each parameter explains alone
// (Hutter, Hoos, Leyton-Brown: "An efficient approach for assessing hyperparameter importance", ICML 2014).
//
// A forest is fitted to the trials, and its means over all other parameters are taken over the declared space, not over
// the trials: where a sampler has looked does not count, but for how much is known there.
//
// A forest fits noise, and the variance of what it fits is never below 0: a parameter without effect would seem to have
// some. So the trials are split at random in two halves, again and again, and the variance of a parameter's means is
// taken as the covariance of the two halves' means: what either has fitted by chance has no part in it.
#pragma once

#include <cstdint>
#include <vector>

#include "orchestrator/analysis/forest.hpp"

namespace hpo::analysis {

struct Share {
    double share = 0;      ///< of the variance; not below 0
    double deviation = 0;  ///< over the halves: one standard deviation
    /// Whether it is more than chance: two deviations above 0.
    [[nodiscard]] bool sure() const { return share > 2 * deviation && share >= 0.02; }
};

struct PairShare {
    std::size_t first = 0, second = 0;
    Share share;  ///< of what both explain together and neither alone
};

struct Variance {
    /// How much of the variance between trials the forest of one half predicts of the other half: 1 all, 0 nothing.
    double explained = 0;
    std::vector<Share> alone;      ///< of each dimension
    std::vector<PairShare> pairs;  ///< of the dimensions with the largest shares, largest first
};

constexpr std::size_t fewest_trials = 16;

/// Deterministic. At least `fewest_trials` trials.
Variance analyse(const BinnedTrials& trials, std::uint64_t seed);

}  // namespace hpo::analysis
