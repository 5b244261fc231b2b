// The logarithm of the expected improvement below a value, and its maximum over the unit cube (Ament, Daulton,
// Eriksson, Balandat, Bakshy: "Unexpected improvements to expected improvement for Bayesian optimization", NeurIPS
// 2023). The logarithm has a usable gradient even where improvement is unlikely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "hpo/space.hpp"
#include "orchestrator/sampling/gaussian_process.hpp"

namespace hpo {

/// Returns the logarithm of the expected improvement below `incumbent` of a normal variable with the mean and deviation
/// of `prediction`. The result is finite for all finite arguments.
double log_expected_improvement(const GaussianProcess::Prediction& prediction, double incumbent);

class Expectation;
class Allowed;

/// The unit cube that is searched for points, as the Gaussian process sees it.
struct SearchSpace {
    /// The number of bins of equal width of each coordinate, one for each category or integer. It is 0 for a continuum,
    /// and for coordinates that have too many values for bins.
    std::vector<std::size_t> bins;
    std::vector<bool> categorical;
    std::function<std::vector<bool>(const Point&)> active;  ///< returns a flag for each coordinate
    /// The predictions from other studies (expectation.hpp). Each is a further input of the process.
    std::vector<std::shared_ptr<const Expectation>> expected = {};
    std::shared_ptr<const Allowed> allowed = {};  ///< the part to search (allowed.hpp); nullptr: the whole space
    double steps = -1;  ///< a further input of the process, constant during a search; negative if there is none

    /// Returns the input of the process at a point. Categories are indices, and -1 if inactive. Other discrete
    /// coordinates are the middles of their bins, and inactive numeric coordinates are 1/2.
    [[nodiscard]] std::vector<double> input(Point point) const;
    /// Returns `point` with discrete coordinates moved to the middle of their bins.
    [[nodiscard]] Point canonical(Point point) const;
};

/// The bounds of a search.
struct Box {
    std::vector<double> low, high;  ///< of numeric coordinates; categorical ones are not bounded
};

/// A function that is maximised over the cube. Its argument is an input of the process (SearchSpace::input). It is
/// finite, and smooth along numeric coordinates.
class Acquisition {
   public:
    virtual ~Acquisition() = default;
    [[nodiscard]] virtual std::vector<double> values(const std::vector<std::vector<double>>& inputs) const = 0;
    /// Returns the value and writes the derivatives with respect to each coordinate (0 for categorical ones).
    virtual double value(std::span<const double> input, std::span<double> gradient) const = 0;
};

/// The log_expected_improvement of a process below `incumbent`.
class ExpectedImprovement final : public Acquisition {
   public:
    ExpectedImprovement(const GaussianProcess& process, double incumbent) : process_(process), incumbent_(incumbent) {}
    [[nodiscard]] std::vector<double> values(const std::vector<std::vector<double>>& inputs) const override;
    double value(std::span<const double> input, std::span<double> gradient) const override;

   private:
    const GaussianProcess& process_;
    double incumbent_;
};

/// Returns the logarithm of the probability that a standard normal variable is below z. It is finite for finite z.
double log_probability(double z);
/// Returns the derivative of log_probability.
double log_probability_slope(double z);

/// Returns the best allowed point found; the points of `around` are allowed. The candidates are `draws` uniform points
/// in `box` and half as many near `around`. The best few are improved by L-BFGS along numeric coordinates and by trying
/// every value of discrete ones. `uniform` returns numbers in [0, 1).
Point maximise(const Acquisition& acquisition, const SearchSpace& space, const Box& box, std::span<const Point> around,
               int draws, const std::function<double()>& uniform);

}  // namespace hpo
