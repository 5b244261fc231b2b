// The inputs of a Gaussian process and the hyperparameters of its kernel (gaussian_process.hpp): their priors, fits and
// draws.
//
// The priors hold from one to some thirty dimensions, as length scales are expected to grow with the root of the number
// of dimensions (Hvarfner, Hellsten, Nardi: "Vanilla Bayesian optimization performs great in high dimensions", ICML
// 2024).
#pragma once

#include <cstddef>
#include <functional>
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
    /// The number of coordinates of the unit cube, the first ones, which a process may warp.
    std::size_t in_cube = 0;
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
    /// The exponents of the warps of the coordinates in the cube, all first ones before all second ones. Empty without
    /// warps, and with an additive part.
    std::vector<double> warp = {};
};

/// A form of the kernel: a joint part alone, one of warped coordinates, or one with an additive part.
enum class Kernel { joint, warped, additive };

/// Returns the hyperparameters of highest prior density, for inputs from the whole unit cube.
Hyperparameters prior_hyperparameters(const Inputs& inputs, Kernel kernel);

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

/// Draws hyperparameters from their posterior density: `steps` steps of elliptical slice sampling from `start` (Murray,
/// Adams, MacKay: "Elliptical slice sampling", AISTATS 2010). `uniform` draws from [0, 1). Returns `start` if the
/// covariance matrix is singular there.
Hyperparameters draw_hyperparameters(const Inputs& inputs, std::span<const double> targets,
                                     const Hyperparameters& start, int steps, const std::function<double()>& uniform);

}  // namespace hpo
