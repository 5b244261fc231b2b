// The logarithm of the expected improvement below a value, and its maximum over the unit cube (Ament, Daulton,
// Eriksson, Balandat, Bakshy: "Unexpected improvements to expected improvement for Bayesian optimization", NeurIPS
// 2023): where improvement is unlikely its logarithm still has a slope to follow.
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

/// Of a normal variable with this mean and deviation, below `incumbent`. Finite for all finite arguments.
double log_expected_improvement(const GaussianProcess::Prediction& prediction, double incumbent);

class Expectation;

/// The cube in which points are looked for, as the Gaussian process sees it.
struct SearchSpace {
    /// Values of a coordinate: 0 numeric (a continuum, or so many values that it is treated as one); else the number of
    /// bins of equal width, of categories and of integers.
    std::vector<std::size_t> bins;
    std::vector<bool> categorical;
    std::function<std::vector<bool>(const Point&)> active;  ///< which coordinates count at a point
    /// What other studies lead to expect of a point (expectation.hpp), a further input of the process each.
    std::vector<std::shared_ptr<const Expectation>> expected = {};
    double steps = -1;  ///< a further input of the process, constant while searching; negative: there is none

    /// What the process is asked about: categories by index, bins in their middle, inactive coordinates at 1/2.
    [[nodiscard]] std::vector<double> input(Point point) const;
    /// `point` with discrete coordinates in the middle of their bins.
    [[nodiscard]] Point canonical(Point point) const;
};

struct Box {
    std::vector<double> low, high;  ///< numeric coordinates; categorical ones are free
};

/// What is maximised over the cube: a function of a process's input (SearchSpace::input), smooth along numeric
/// coordinates, finite.
class Acquisition {
   public:
    virtual ~Acquisition() = default;
    [[nodiscard]] virtual std::vector<double> values(const std::vector<std::vector<double>>& inputs) const = 0;
    /// Also the derivatives by each coordinate (0 by categorical ones).
    virtual double value(std::span<const double> input, std::span<double> gradient) const = 0;
};

/// log_expected_improvement of a process below `incumbent`.
class ExpectedImprovement final : public Acquisition {
   public:
    ExpectedImprovement(const GaussianProcess& process, double incumbent) : process_(process), incumbent_(incumbent) {}
    [[nodiscard]] std::vector<double> values(const std::vector<std::vector<double>>& inputs) const override;
    double value(std::span<const double> input, std::span<double> gradient) const override;

   private:
    const GaussianProcess& process_;
    double incumbent_;
};

/// The logarithm of the probability that a normal variable with mean 0 and variance 1 is below z; finite for finite z.
double log_probability(double z);
/// Its derivative.
double log_probability_slope(double z);

/// The best point found: `draws` uniform ones in `box` and half as many near `around`, of which the best few are
/// improved by L-BFGS along numeric coordinates and by trying every value of discrete ones. `uniform` gives numbers in
/// [0, 1).
Point maximise(const Acquisition& acquisition, const SearchSpace& space, const Box& box, std::span<const Point> around,
               int draws, const std::function<double()>& uniform);

}  // namespace hpo
