// The interface of all samplers. A sampler works in the unit cube. policy.hpp maps the cube to parameters, so that
// priors apply to all samplers.
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

/// A trial's point, with a flag for each dimension that is set if the dimension is active.
struct Site {
    Point point;
    std::vector<bool> active;
};

/// The result of a trial, as a sampler learns from it.
struct Observation {
    std::int64_t trial = 0;
    Site site;
    /// Finite, and smaller is better for both directions of the objective. Absent if the trial diverged, failed or
    /// measured nothing; it then counts as the worst.
    std::optional<double> loss;
    std::optional<double> deviation;      ///< standard deviation of a loss that is a prediction of the trial's end
    std::optional<double> noise = {};     ///< standard error of a loss that is measured, where the trial reports one
    std::int64_t steps = 0;               ///< trained so far; fewer than all for a stopped or paused trial
    bool has_curve = false;               ///< true if a step before the trial's last one is known
    std::optional<double> seconds = {};   ///< that the trial takes to its end: measured, or by its pace
    double elapsed = 0;                   ///< seconds of the study when this was observed
    bool repeats = false;                 ///< true if the trial repeated another one exactly
    std::vector<double> further = {};     ///< with `loss`: the losses of the further objectives
    std::vector<double> violations = {};  ///< with `loss`: a value for each constraint, above 0 if it is violated

    /// Returns the standing of a trial that has a loss.
    [[nodiscard]] Standing standing() const {
        Standing made{{*loss}};
        made.losses.insert(made.losses.end(), further.begin(), further.end());
        for (const double violation : violations) made.violation += std::max(0.0, violation);
        return made;
    }
};

class Expectation;
class Beliefs;
class Allowed;

/// The properties of a study that a sampler is made for.
struct SamplerSetup {
    std::uint64_t seed = 1;
    std::int64_t trials = 64;            ///< budget of the study; only a hint, since studies may be extended
    std::optional<double> seconds = {};  ///< time budget of the study
    bool open_ended = false;             ///< true if this time alone ends the study, so that `trials` is no hint
    Space space;                         ///< each dimension is one coordinate, in this order
    bool stops_early = false;            ///< true if rules of the study end or pause trials early
    bool foretells = false;              ///< true if the predicted ends of these trials are told
    /// The trial that may try the middle of the space, as the first trial without a given configuration among the first
    /// two. 0 if the study file gives the first configurations.
    std::int64_t middle_at = 1;
    /// Returns a point with the values that libraries take by default (usual_values.hpp) in place of its own. Empty if
    /// no parameter is known by its name.
    std::function<Point(const Point&)> usual = {};
    std::size_t objectives = 1, constraints = 0;
    std::function<std::vector<bool>(const Point&)> active;  ///< returns a flag for each dimension
    /// Returns the number of distinct values of a dimension, or nothing for a continuum. Their bins have equal widths
    /// but for those of whole numbers with log. Empty if the numbers are not known.
    std::function<std::optional<std::uint64_t>(std::size_t dimension)> values = {};
    /// Returns the coordinate of a dimension's value by its index. Empty with `values`.
    std::function<double(std::size_t dimension, std::uint64_t index)> middle = {};
    /// Returns a point with discrete coordinates in the middle of their bins, so that equal parameters have equal
    /// points.
    std::function<Point(const Point&)> canonical = {};
    /// The densities of preferred values (beliefs.hpp), or nullptr if there are none.
    std::shared_ptr<const Beliefs> beliefs = {};
    /// The part of the cube that the study allows (allowed.hpp); nullptr: the whole cube. Samplers propose points of
    /// this part alone.
    std::shared_ptr<const Allowed> allowed = {};
    /// The predictions from other studies (expectation.hpp), one for each study.
    std::vector<std::shared_ptr<const Expectation>> expected = {};
};

/// A source of points that may learn from results. It is deterministic: a proposal depends only on the seed, the
/// trial's number, the retry, `pending` and the order of the observations. Not thread-safe.
class Sampler {
   public:
    virtual ~Sampler() = default;

    /// Returns a point for trial `trial` (from 1), with a coordinate in [0, 1] for each dimension. `pending` holds the
    /// trials without an observation. `retry` counts up from 0 while the proposal duplicates an earlier trial.
    virtual Point propose(std::int64_t trial, std::span<const Site> pending, int retry) = 0;
    /// Returns false if propose() does not read `pending`, which is empty then: collecting it takes as long as there
    /// are trials at once.
    [[nodiscard]] virtual bool reads_pending() const { return true; }

    /// Learns from a trial that has ended or was paused, in the order of the stored events. A later observation of a
    /// trial (paused, then ended) replaces the earlier one.
    virtual void tell(const Observation& observation) = 0;

    /// Returns the number of different points, which are those of trials 1 to this number, or nothing if it is
    /// unlimited.
    [[nodiscard]] virtual std::optional<std::int64_t> points() const { return std::nullopt; }

    /// Returns a clause for `hpo check` and the log about choices that the study file does not determine, with their
    /// reasons. Empty if there are none.
    [[nodiscard]] virtual std::string about() const { return {}; }
};

}  // namespace hpo
