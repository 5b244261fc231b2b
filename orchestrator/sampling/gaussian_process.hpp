// A Gaussian process over the unit cube (Rasmussen and Williams: "Gaussian processes for machine learning", 2006), for
// numeric and categorical coordinates together.
//
// The kernel is a Matern 5/2 of all coordinates with a length scale each (automatic relevance determination); in its
// additive form a mean of one-dimensional Matern kernels is added (Duvenaud, Nickisch, Rasmussen: "Additive Gaussian
// processes", NeurIPS 2011), which learns much faster where coordinates hardly interact. Two different categories are
// at distance 1 of each other. Hyperparameters are those of highest posterior density; the priors hold from one to some
// thirty dimensions, as length scales are expected to grow with the root of the number of dimensions (Hvarfner,
// Hellsten, Nardi: "Vanilla Bayesian optimization performs great in high dimensions", ICML 2024).
#pragma once

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace hpo {

/// n inputs of D coordinates, coordinate after coordinate: at(i, d) = values[d * n + i]. A categorical coordinate holds
/// the index of its category.
struct Inputs {
    std::size_t count = 0;
    std::vector<bool> categorical;  ///< a flag for each coordinate
    std::vector<double> values;
    /// The known noise variance of each target, in addition to the common noise. Empty if none is known.
    std::vector<double> variances = {};
    /// The length of the range of each coordinate, to which the priors of length scales are relative. Empty if the
    /// inputs are from the whole unit cube.
    std::vector<double> ranges = {};
    /// The slope of the process's mean along each coordinate. Empty if the mean is 0.
    std::vector<double> slopes = {};
    /// Returns the process's mean at `x`, which has one value for each coordinate.
    [[nodiscard]] double trend(std::span<const double> x) const {
        return std::inner_product(slopes.begin(), slopes.end(), x.begin(), 0.0);
    }
    /// Returns the targets without the process's mean.
    [[nodiscard]] std::vector<double> without_trend(std::span<const double> targets) const;
    [[nodiscard]] std::size_t dimensions() const { return categorical.size(); }
    [[nodiscard]] double at(std::size_t i, std::size_t d) const { return values[d * count + i]; }
    /// Returns the coordinates of an input.
    [[nodiscard]] std::vector<double> row(std::size_t i) const;
    [[nodiscard]] double variance(std::size_t i) const { return variances.empty() ? 0 : variances[i]; }
    [[nodiscard]] double range(std::size_t d) const { return ranges.empty() ? 1 : ranges[d]; }
};

/// Natural logarithms of the kernel's parameters. Targets are expected to have mean 0 and variance 1.
struct Hyperparameters {
    std::vector<double> length;           ///< length scale of each coordinate in the joint kernel
    double scale = 0;                     ///< variance of the joint kernel
    double noise = -9;                    ///< variance of the observations
    double additive = -1.2;               ///< variance of the additive part
    std::vector<double> additive_length;  ///< empty without an additive part
};

/// Returns the hyperparameters of highest prior density, for inputs from the whole unit cube.
Hyperparameters prior_hyperparameters(const std::vector<bool>& categorical, bool additive);

struct Fit {
    Hyperparameters parameters;
    double cost = 0;  ///< negative log of likelihood times prior, up to a constant that does not depend on the targets
};

/// Climbs from `start` to a local maximum of the posterior density, in at most `iterations` steps. The cost is infinite
/// if the covariance matrix is singular to working precision. `noise_floor` is a lower bound of the noise's logarithm.
Fit fit(const Inputs& inputs, std::span<const double> targets, const Hyperparameters& start, int iterations,
        double noise_floor = -30);
/// Returns the cost of hyperparameters. This is faster than `fit` without iterations, which computes the gradient, too.
double cost(const Inputs& inputs, std::span<const double> targets, const Hyperparameters& parameters);

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

    Inputs inputs_;
    std::vector<double> targets_;
    std::vector<double> relevance_;           ///< inverse squared length scales
    std::vector<double> additive_relevance_;  ///< empty without an additive part
    double scale_ = 1;
    double additive_ = 0;          ///< variance of each one-dimensional kernel
    std::vector<double> inverse_;  ///< inverse of the Cholesky factor
    std::vector<double> weights_;  ///< inverse covariance times the targets without trend
};

}  // namespace hpo
