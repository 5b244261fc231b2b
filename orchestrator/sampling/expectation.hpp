// Predicts the score of each point of this study from the trials of another study. The prediction is the mean of a
// Gaussian process on the scores of those trials (prior_study.hpp).
//
// Samplers do not trust the prediction blindly. The gp sampler expects results to rise with it, by a slope that this
// study's own results correct from the first on: it becomes 0 if the other study misleads, and negative if its best is
// the worst here. The prediction is a further input of the process as well, whose relevance is learnt as that of a
// parameter. The tpe sampler weights its candidates by the prediction. The weight
// follows from how well the prediction has ranked this study's own trials, and falls with their number (Hvarfner,
// Stoll, Souza, Lindauer, Hutter, Nardi: "piBO: augmenting acquisition functions with user beliefs for Bayesian
// optimization", ICLR 2022).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "orchestrator/sampling/expected_improvement.hpp"
#include "orchestrator/sampling/gaussian_process.hpp"
#include "orchestrator/sampling/sampler.hpp"

namespace hpo {

/// A trial of another study, mapped to the unit cube of this one.
struct PriorSite {
    Site site;
    double score = 0;
};

/// The predicted scores. Immutable.
class Expectation {
   public:
    /// Fits the process to `trials`, of which there must be at least one. If there are many, a subset is selected as
    /// for the gp sampler. `space` is the gp sampler's, without further inputs.
    Expectation(SearchSpace space, const std::vector<PriorSite>& trials);

    /// Returns a quarter of the predicted score at a point. Most trials lie within [-1/2, 1/2]. Far from all trials,
    /// the value is 0.
    [[nodiscard]] double at(const Point& point) const;
    /// Returns the same at an input of the process (SearchSpace::input), without further inputs.
    [[nodiscard]] double at_input(std::span<const double> input) const;
    /// Returns the same and writes the derivatives with respect to each coordinate.
    double at_input(std::span<const double> input, std::span<double> gradient) const;

    /// Returns the number of trials that it was made of.
    [[nodiscard]] std::size_t trials() const { return trials_; }

   private:
    SearchSpace space_;
    std::size_t trials_ = 0;
    double unit_ = 1, centre_ = 0;
    std::unique_ptr<const GaussianProcess> process_;
};

/// Returns the slope of the mean along each coordinate of `inputs`: along the predictions from other studies
/// (`space.expected`) those of highest posterior density by the targets, along all others 0. Empty if there is no
/// prediction. The mean of the prior says that each other study agrees with this one for the most part.
std::vector<double> slopes_along_expected(const Inputs& inputs, const SearchSpace& space,
                                          std::span<const double> targets);

}  // namespace hpo
