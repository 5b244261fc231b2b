// L-BFGS with box bounds by projection (Liu and Nocedal: "On the limited memory BFGS method for large scale
// optimization", Mathematical Programming 45, 1989; Bertsekas: "Projected Newton methods for optimization problems with
// simple constraints", SIAM J. Control and Optimization 20, 1982).
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace hpo {

/// Value at `x`; writes the gradient. A value that is not finite counts as worse than any other.
using Differentiable = std::function<double(std::span<const double> x, std::span<double> gradient)>;

struct Minimum {
    std::vector<double> x;
    double value = 0;
};

struct MinimiseOptions {
    int iterations = 30;
    double tolerance = 1e-6;  ///< ends when the projected gradient's largest entry falls below this
    double first_step = 0.3;  ///< largest change of a coordinate in the first iteration
};

/// A local minimum from `start`, within [low, high] in each coordinate; `start` itself where its value is not finite.
Minimum minimise(const Differentiable& function, std::vector<double> start, std::span<const double> low,
                 std::span<const double> high, const MinimiseOptions& options = {});

}  // namespace hpo
