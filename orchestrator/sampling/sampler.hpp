// The seam of all samplers. A sampler works in the unit cube; policy.hpp maps the cube to parameters, so that priors
// shape all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/space.hpp"
#include "hpo/standing.hpp"

namespace hpo {

/// Where a trial lies: its point, and for each dimension whether its parameters hold it (conditions).
struct Site {
    Point point;
    std::vector<bool> active;
};

/// What became of a trial, for the sampler.
struct Observation {
    std::int64_t trial = 0;
    Site site;
    std::optional<double> loss;  ///< smaller is better, whatever the direction, and finite; absent: diverged, failed or
                                 ///< nothing measured, counts as worst
    std::optional<double> deviation;      ///< of a loss that is predicted, of the trial's end: one standard deviation
    std::int64_t steps = 0;               ///< trained so far: a stopped or paused trial's loss is of fewer steps
    std::vector<double> further = {};     ///< with `loss`: those of the further objectives, oriented likewise
    std::vector<double> violations = {};  ///< with `loss`: of each constraint, not above 0 where it is kept

    /// Of a trial that told a loss.
    [[nodiscard]] Standing standing() const {
        Standing made{{*loss}};
        made.losses.insert(made.losses.end(), further.begin(), further.end());
        for (const double violation : violations) made.violation += std::max(0.0, violation);
        return made;
    }
};

class Expectation;
class Beliefs;

/// What a sampler is made for.
struct SamplerSetup {
    std::uint64_t seed = 1;
    std::int64_t trials = 64;  ///< budget of the study; a hint, studies may be extended
    Space space;               ///< one coordinate a dimension, in this order
    bool stops_early = false;  ///< rules of the study end or pause trials early
    bool foretells = false;    ///< and tell where such trials are predicted to end
    std::size_t objectives = 1, constraints = 0;
    std::function<std::vector<bool>(const Point&)> active;  ///< which dimensions a point's parameters hold
    /// Distinct values of a dimension, in bins of equal width; absent: a continuum. Empty: not known of any.
    std::function<std::optional<std::uint64_t>(std::size_t dimension)> values = {};
    /// Where the study expects good values (beliefs.hpp); nullptr: nowhere.
    std::shared_ptr<const Beliefs> beliefs = {};
    /// What other studies lead to expect of a point (expectation.hpp), one a study.
    std::vector<std::shared_ptr<const Expectation>> expected = {};
};

/// Deterministic: a proposal depends on the seed, the trial's number, the retry, `pending` and the order of `tell`
/// alone. Not thread-safe.
class Sampler {
   public:
    virtual ~Sampler() = default;

    /// A point for trial `trial` (from 1), one coordinate in [0, 1] a dimension. `pending`: trials that have not told
    /// anything yet; `retry` counts up from 0 when the proposal was a duplicate of an earlier trial.
    virtual Point propose(std::int64_t trial, std::span<const Site> pending, int retry) = 0;

    /// A trial ended or was paused, in the order in which this was stored. A trial told again (paused, then ended)
    /// replaces what it told before.
    virtual void tell(const Observation& observation) = 0;

    /// How many different points it has, for trials 1 to so many; absent: as many as are asked for.
    [[nodiscard]] virtual std::optional<std::int64_t> points() const { return std::nullopt; }

    /// What it does and why, where the study file does not say it: a clause for `hpo check` and the log. Empty:
    /// nothing.
    [[nodiscard]] virtual std::string about() const { return {}; }
};

}  // namespace hpo
