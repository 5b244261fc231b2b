// L-BFGS with box bounds by projection (Liu and Nocedal: "On the limited memory BFGS method for large scale
// optimization", Mathematical Programming 45, 1989; Bertsekas: "Projected Newton methods for optimization problems with
// simple constraints", SIAM J. Control and Optimization 20, 1982).
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace hpo {

/// A function that returns its value at `x` and writes the gradient. A value that is not finite counts as the worst.
using Differentiable = std::function<double(std::span<const double> x, std::span<double> gradient)>;

/// A local minimum of a function.
struct Minimum {
    std::vector<double> x;
    double value = 0;
};

struct MinimiseOptions {
    int iterations = 30;
    double tolerance = 1e-6;  ///< the search ends when the projected gradient's largest entry is smaller
    double first_step = 0.3;  ///< largest change of a coordinate in the first iteration
};

/// Returns a local minimum found from `start`, within [low, high] in each coordinate. Returns `start` itself if its
/// value is not finite.
Minimum minimise(const Differentiable& function, std::vector<double> start, std::span<const double> low,
                 std::span<const double> high, const MinimiseOptions& options = {});

}  // namespace hpo
