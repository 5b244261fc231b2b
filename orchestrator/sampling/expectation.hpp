// What the trials of another study lead to expect of each point of this one: the mean of a Gaussian process on their
// scores (prior_study.hpp).
//
// The samplers do not take its word. The gp sampler has it as one more input of its process, whose relevance is found
// from this study's own results like that of a parameter: where the other study tells what happens here, results follow
// it; where it misleads, it counts as little as a parameter without effect. The tpe sampler adds it to its choice as
// far as it has ranked this study's own trials, with a weight that falls with their number (Hvarfner, Stoll, Souza,
// Lindauer, Hutter, Nardi: "piBO: augmenting acquisition functions with user beliefs for Bayesian optimization", ICLR
// 2022).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "orchestrator/sampling/expected_improvement.hpp"
#include "orchestrator/sampling/gaussian_process.hpp"
#include "orchestrator/sampling/sampler.hpp"

namespace hpo {

/// A trial of another study at its place in this one's cube.
struct PriorSite {
    Site site;
    double score = 0;
};

class Expectation {
   public:
    /// `space` as the gp sampler sees it, without further inputs; at least one trial. Of many those are taken that the
    /// gp sampler would take.
    Expectation(SearchSpace space, const std::vector<PriorSite>& trials);

    /// At a point, in quarters of a score: most trials lie within [-1/2, 1/2]; far from all trials it is 0.
    [[nodiscard]] double at(const Point& point) const;
    /// At what the process is asked about (SearchSpace::input), without further inputs.
    [[nodiscard]] double at_input(std::span<const double> input) const;
    /// Also the derivatives by each coordinate.
    double at_input(std::span<const double> input, std::span<double> gradient) const;

   private:
    SearchSpace space_;
    double unit_ = 1, centre_ = 0;
    std::unique_ptr<const GaussianProcess> process_;
};

}  // namespace hpo
