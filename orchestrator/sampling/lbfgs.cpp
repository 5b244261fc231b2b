#include "orchestrator/sampling/lbfgs.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

namespace hpo {

namespace {

constexpr std::size_t memory = 8;    // pairs kept
constexpr double sufficient = 1e-4;  // Armijo's constant
constexpr int halvings = 12;         // of a step, before the search gives up

double dot(std::span<const double> a, std::span<const double> b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

struct Pair {
    std::vector<double> step, change;  ///< of x and of the gradient
    double curvature;                  ///< 1 / (step . change)
};

/// The two-loop recursion: -H gradient, over free coordinates alone.
std::vector<double> direction(const std::deque<Pair>& pairs, std::vector<double> gradient) {
    std::vector<double> weights(pairs.size());
    for (std::size_t i = pairs.size(); i-- > 0;) {
        weights[i] = pairs[i].curvature * dot(pairs[i].step, gradient);
        for (std::size_t d = 0; d < gradient.size(); ++d) gradient[d] -= weights[i] * pairs[i].change[d];
    }
    if (!pairs.empty()) {
        const Pair& last = pairs.back();
        const double scale = 1 / (last.curvature * dot(last.change, last.change));
        for (double& g : gradient) g *= scale;
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const double back = pairs[i].curvature * dot(pairs[i].change, gradient);
        for (std::size_t d = 0; d < gradient.size(); ++d) gradient[d] += (weights[i] - back) * pairs[i].step[d];
    }
    for (double& g : gradient) g = -g;
    return gradient;
}

}  // namespace

Minimum minimise(const Differentiable& function, std::vector<double> start, std::span<const double> low,
                 std::span<const double> high, const MinimiseOptions& options) {
    const std::size_t size = start.size();
    for (std::size_t d = 0; d < size; ++d) start[d] = std::clamp(start[d], low[d], high[d]);
    Minimum best{start, 0};
    std::vector<double> gradient(size), next_gradient(size), next(size);
    best.value = function(best.x, gradient);
    if (!std::isfinite(best.value)) return best;

    std::deque<Pair> pairs;
    for (int iteration = 0; iteration < options.iterations; ++iteration) {
        // A coordinate at its bound whose gradient leads outside stays where it is.
        std::vector<double> free = gradient;
        double largest = 0;
        for (std::size_t d = 0; d < size; ++d) {
            if ((best.x[d] <= low[d] && gradient[d] > 0) || (best.x[d] >= high[d] && gradient[d] < 0)) free[d] = 0;
            largest = std::max(largest, std::abs(free[d]));
        }
        if (largest < options.tolerance) break;
        std::vector<double> along = direction(pairs, free);
        for (std::size_t d = 0; d < size; ++d)
            if (free[d] == 0) along[d] = 0;
        if (dot(along, free) >= 0) {
            pairs.clear();
            for (std::size_t d = 0; d < size; ++d) along[d] = -free[d];
        }
        double length = 1;
        if (pairs.empty()) {
            double longest = 0;
            for (const double a : along) longest = std::max(longest, std::abs(a));
            length = options.first_step / longest;
        }
        bool moved = false;
        double value = best.value;
        for (int halving = 0; halving < halvings && !moved; ++halving, length /= 2) {
            double expected = 0;
            for (std::size_t d = 0; d < size; ++d) {
                next[d] = std::clamp(best.x[d] + length * along[d], low[d], high[d]);
                expected += gradient[d] * (next[d] - best.x[d]);
            }
            value = function(next, next_gradient);
            moved = std::isfinite(value) && value <= best.value + sufficient * expected;
        }
        if (!moved) {
            if (pairs.empty()) break;
            pairs.clear();
            continue;
        }
        Pair pair{next, next_gradient, 0};
        for (std::size_t d = 0; d < size; ++d) {
            pair.step[d] -= best.x[d];
            pair.change[d] -= gradient[d];
        }
        const double bend = dot(pair.step, pair.change);
        const double gained = best.value - value;
        best.x = next;
        best.value = value;
        gradient = next_gradient;
        if (bend > 1e-12 * dot(pair.change, pair.change)) {
            pair.curvature = 1 / bend;
            pairs.push_back(std::move(pair));
            if (pairs.size() > memory) pairs.pop_front();
        }
        if (gained < 1e-9 * (1 + std::abs(value))) break;
    }
    return best;
}

}  // namespace hpo
