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

/// The best point found: `draws` uniform ones in `box` and half as many near `around`, of which the best few are
/// improved by L-BFGS along numeric coordinates and by trying every value of discrete ones. `uniform` gives numbers in
/// [0, 1).
Point maximise_improvement(const GaussianProcess& process, const SearchSpace& space, double incumbent, const Box& box,
                           std::span<const Point> around, int draws, const std::function<double()>& uniform);

}  // namespace hpo
