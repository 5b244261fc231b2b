// A Gaussian process over the unit cube (Rasmussen and Williams: "Gaussian processes for machine learning", 2006), for
// numeric and categorical coordinates together.
//
// The kernel is a Matern 5/2 of all coordinates with a length scale each (automatic relevance determination); in its
// additive form a mean of one-dimensional Matern kernels is added (Duvenaud, Nickisch, Rasmussen: "Additive Gaussian
// processes", NeurIPS 2011), which learns much faster where coordinates hardly interact. Two different categories are
// at distance 1 of each other. In its warped form, a coordinate of the cube is replaced by the cumulative distribution
// function of a Kumaraswamy distribution, so that a function that varies most near one end of a range becomes even
// (Snoek and others: "Input warping for Bayesian optimization of non-stationary functions", ICML 2014).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orchestrator/sampling/hyperparameters.hpp"

namespace hpo {

struct Warp;

/// A Gaussian process conditioned on observations. Immutable. It holds copies of its arguments.
class GaussianProcess {
   public:
    /// `targets` is as in `fit`. Increases the noise until the covariance matrix is not singular.
    GaussianProcess(Inputs inputs, std::span<const double> targets, Hyperparameters parameters);

    struct Prediction {
        double mean = 0;
        double deviation = 0;  ///< of the function, without the observations' noise; at least 1e-10
    };
    /// Returns the prediction at `x`, which has one value for each coordinate.
    [[nodiscard]] Prediction predict(std::span<const double> x) const;
    /// Returns the prediction at each point. This is faster than single predictions.
    [[nodiscard]] std::vector<Prediction> predict_all(const std::vector<std::vector<double>>& points) const;
    /// Returns the mean at `x`.
    [[nodiscard]] double mean(std::span<const double> x) const;
    /// Returns the prediction and writes its derivatives with respect to each coordinate (0 for categorical ones).
    Prediction predict(std::span<const double> x, std::span<double> mean_gradient,
                       std::span<double> deviation_gradient) const;
    /// Returns the prediction of each target from all others, with the deviation of the observation, noise included
    /// (Rasmussen and Williams, 5.4.2).
    [[nodiscard]] std::vector<Prediction> leave_one_out() const;

    /// Returns the covariance matrix of the function's values at some of the observed inputs, row by row.
    [[nodiscard]] std::vector<double> covariance(const std::vector<std::size_t>& some) const;

    [[nodiscard]] const Inputs& inputs() const { return inputs_; }
    [[nodiscard]] const std::vector<double>& targets() const { return targets_; }

   private:
    /// Buffers for the kernel between `x` and the first inputs.
    struct Scratch {
        std::vector<double> squares;     ///< squared distances in the last coordinate
        std::vector<double> sums;        ///< squared distances in units of the joint kernel's length scales
        std::vector<double> covariance;  ///< the kernel's values
    };
    void covariances(std::span<const double> x, std::size_t count, Scratch& scratch) const;
    [[nodiscard]] double prior_variance() const;
    [[nodiscard]] Warp warp_of(std::size_t coordinate, double x) const;

    Inputs inputs_;
    std::vector<double> warps_;   ///< exponents, as in Hyperparameters
    std::vector<double> warped_;  ///< the values of the inputs, warped
    std::vector<double> targets_;
    std::vector<double> relevance_;           ///< inverse squared length scales
    std::vector<double> additive_relevance_;  ///< empty without an additive part
    double scale_ = 1;
    double additive_ = 0;          ///< variance of each one-dimensional kernel
    std::vector<double> inverse_;  ///< inverse of the Cholesky factor
    std::vector<double> weights_;  ///< inverse covariance times the targets without trend
};

}  // namespace hpo
