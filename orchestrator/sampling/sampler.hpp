// The seam of all samplers. A sampler works in the unit cube; policy.hpp maps the cube to parameters, so that priors
// shape all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "hpo/result.hpp"
#include "hpo/study.hpp"

namespace hpo {

/// What became of a trial, for the sampler.
struct Observation {
    std::int64_t trial = 0;
    Point point;
    std::vector<bool> active;  ///< a flag a dimension: whether the trial's parameters hold it
    std::optional<double>
        loss;  ///< smaller is better, whatever the direction; absent: diverged or failed, counts as worst
};

/// Deterministic: a proposal depends on the seed, the trial's number, the retry and the order of `tell` alone. Not
/// thread-safe.
class Sampler {
   public:
    virtual ~Sampler() = default;

    /// A point for trial `trial` (from 1). `pending`: points of trials that run, wait or are paused; `retry` counts up
    /// from 0 when a proposal was a duplicate of an earlier trial.
    virtual Point propose(std::int64_t trial, std::span<const Point> pending, int retry) = 0;

    /// A trial ended. Called once a trial, in the order in which results were stored.
    virtual void tell(const Observation& observation) = 0;
};

}  // namespace hpo
