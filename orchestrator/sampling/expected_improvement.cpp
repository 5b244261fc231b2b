#include "orchestrator/sampling/expected_improvement.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "orchestrator/sampling/allowed.hpp"
#include "orchestrator/sampling/expectation.hpp"
#include "orchestrator/sampling/lbfgs.hpp"

namespace hpo {

namespace {

constexpr double log_root_two_pi = 0.91893853320467274178;

double density(double z) { return std::exp(-z * z / 2 - log_root_two_pi); }
double probability(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// Phi(z) / phi(z) for z <= -1: Mills' ratio, by Lentz's continued fraction where erfc would underflow.
double mills(double z) {
    const double x = -z;
    if (x < 5) return probability(z) / density(z);
    double fraction = 0;
    for (int k = 60; k > 0; --k) fraction = k / (x + fraction);
    return 1 / (x + fraction);
}

/// The logarithm of h(z) = phi(z) + z Phi(z), with the factors phi / h and Phi / h of its derivatives.
struct Improvement {
    double log_h, density_ratio, probability_ratio;
};
Improvement improvement(double z) {
    if (z > -1) {
        const double h = density(z) + z * probability(z);
        return {std::log(h), density(z) / h, probability(z) / h};
    }
    // h = phi (1 + z m) with Mills' ratio m. Far out 1 + z m is 1 / z^2 - 3 / z^4 + ..., lost to cancellation.
    const double m = mills(z);
    const double square = z * z;
    const double rest = z < -30 ? 1 / square * (1 - 3 / square) : 1 + z * m;
    return {-square / 2 - log_root_two_pi + std::log(rest), 1 / rest, m / rest};
}

constexpr std::size_t refined = 5;  // starts of local searches
constexpr int rounds = 2;           // of numeric and discrete improvement in turn
constexpr double apart = 0.05;      // least distance of starts in some coordinate

/// Returns the point with discrete coordinates in the middle of their bins.
Point canonical_in(const SearchSpace& space, Point point) {
    return space.allowed ? space.allowed->canonical(point) : space.canonical(std::move(point));
}

class Searcher {
   public:
    Searcher(const Acquisition& acquisition, const SearchSpace& space, const Box& box)
        : acquisition_(acquisition), space_(space), box_(box) {}

    [[nodiscard]] double value(const Point& point) const { return acquisition_.values({space_.input(point)}).front(); }

    [[nodiscard]] std::vector<double> values(const std::vector<Point>& points) const {
        std::vector<std::vector<double>> inputs;
        for (const Point& point : points) inputs.push_back(space_.input(point));
        return acquisition_.values(inputs);
    }

    /// Climbs from `point` and returns the value reached.
    double refine(Point& point, double start) const {
        double best = start;
        for (int round = 0; round < rounds; ++round) {
            const double before = best;
            climb(point, best);
            try_values(point, best);
            if (best - before < 1e-4) break;
        }
        return best;
    }

   private:
    void climb(Point& point, double& best) const {
        std::vector<std::size_t> free;
        const std::vector<bool> active = space_.active(point);
        std::vector<double> start, low, high;
        for (std::size_t d = 0; d < point.size(); ++d)
            if (!space_.categorical[d] && active[d]) {
                free.push_back(d);
                start.push_back(point[d]);
                low.push_back(box_.low[d]);
                high.push_back(box_.high[d]);
            }
        if (free.empty()) return;
        std::vector<double> input = space_.input(point), slope(input.size());
        const std::size_t coordinates = point.size();
        std::vector<std::vector<double>> by_expected(space_.expected.size(), std::vector<double>(coordinates));
        const auto negative = [&](std::span<const double> x, std::span<double> gradient) {
            for (std::size_t i = 0; i < free.size(); ++i) input[free[i]] = x[i];
            for (std::size_t e = 0; e < by_expected.size(); ++e)
                input[coordinates + e] = space_.expected[e]->at_input({input.data(), coordinates}, by_expected[e]);
            const double reached = acquisition_.value(input, slope);
            for (std::size_t i = 0; i < free.size(); ++i) {
                gradient[i] = -slope[free[i]];
                for (std::size_t e = 0; e < by_expected.size(); ++e)
                    gradient[i] -= slope[coordinates + e] * by_expected[e][free[i]];
            }
            return -reached;
        };
        const Minimum found =
            minimise(negative, start, low, high, {.iterations = 20, .tolerance = 1e-5, .first_step = 0.1});
        Point moved = point;
        for (std::size_t i = 0; i < free.size(); ++i) moved[free[i]] = found.x[i];
        if (space_.allowed) moved = space_.allowed->towards(point, moved);
        moved = canonical_in(space_, std::move(moved));
        if (const double reached = value(moved); reached > best) {
            best = reached;
            point = std::move(moved);
        }
    }

    void try_values(Point& point, double& best) const {
        for (std::size_t d = 0; d < point.size(); ++d) {
            const std::size_t bins = space_.bins[d];
            if (bins == 0 || !space_.active(point)[d]) continue;
            for (std::size_t bin = 0; bin < bins; ++bin) {
                const double coordinate = (static_cast<double>(bin) + 0.5) / static_cast<double>(bins);
                if (!space_.categorical[d] && (coordinate < box_.low[d] || coordinate > box_.high[d])) continue;
                Point moved = point;
                moved[d] = coordinate;
                if (space_.allowed && !space_.allowed->contains(moved)) continue;
                if (const double reached = value(moved); reached > best) {
                    best = reached;
                    point = std::move(moved);
                }
            }
        }
    }

    const Acquisition& acquisition_;
    const SearchSpace& space_;
    const Box& box_;
};

}  // namespace

double log_expected_improvement(const GaussianProcess::Prediction& prediction, double incumbent) {
    return improvement((incumbent - prediction.mean) / prediction.deviation).log_h + std::log(prediction.deviation);
}

std::vector<double> ExpectedImprovement::values(const std::vector<std::vector<double>>& inputs) const {
    std::vector<double> all;
    for (const auto& prediction : process_.predict_all(inputs))
        all.push_back(log_expected_improvement(prediction, incumbent_));
    return all;
}

double ExpectedImprovement::value(std::span<const double> input, std::span<double> gradient) const {
    std::vector<double> by_mean(input.size()), by_deviation(input.size());
    const auto prediction = process_.predict(input, by_mean, by_deviation);
    const Improvement at = improvement((incumbent_ - prediction.mean) / prediction.deviation);
    for (std::size_t d = 0; d < input.size(); ++d)
        gradient[d] = -(at.probability_ratio * by_mean[d] - at.density_ratio * by_deviation[d]) / prediction.deviation;
    return at.log_h + std::log(prediction.deviation);
}

double log_probability(double z) {
    return z > -5 ? std::log(probability(z)) : std::log(mills(z)) - z * z / 2 - log_root_two_pi;
}

double log_probability_slope(double z) { return z > -1 ? density(z) / probability(z) : 1 / mills(z); }

Point SearchSpace::canonical(Point point) const {
    for (std::size_t d = 0; d < point.size(); ++d)
        if (bins[d] > 0) {
            const auto count = static_cast<double>(bins[d]);
            point[d] = (std::min(std::floor(point[d] * count), count - 1) + 0.5) / count;
        }
    return point;
}

std::vector<double> SearchSpace::input(Point point) const {
    const std::vector<bool> counts = active(point);
    point = canonical(std::move(point));
    for (std::size_t d = 0; d < point.size(); ++d) {
        if (!counts[d])
            point[d] = categorical[d] ? -1 : 0.5;
        else if (categorical[d])
            point[d] = std::floor(point[d] * static_cast<double>(bins[d]));
    }
    const std::size_t coordinates = point.size();
    for (const auto& other : expected) {
        const double there = other->at_input({point.data(), coordinates});
        point.push_back(there);
    }
    if (steps >= 0) point.push_back(steps);
    return point;
}

Point maximise(const Acquisition& acquisition, const SearchSpace& space, const Box& box, std::span<const Point> around,
               int draws, const std::function<double()>& uniform) {
    const std::size_t dimensions = space.bins.size();
    const Searcher searcher(acquisition, space, box);
    std::vector<Point> points;
    const auto consider = [&](Point point) {
        if (space.allowed && !space.allowed->contains(point)) return false;
        points.push_back(canonical_in(space, std::move(point)));
        return true;
    };
    // Where little of the box is allowed, some draws fail, and draws of the whole space take their place.
    constexpr int most_rejected = 20;
    for (int i = 0; i < draws; ++i)
        for (int tries = 0; tries < most_rejected; ++tries) {
            Point point(dimensions);
            for (std::size_t d = 0; d < dimensions; ++d) {
                const double u = uniform();
                point[d] = space.categorical[d] ? u : box.low[d] + u * (box.high[d] - box.low[d]);
            }
            if (consider(std::move(point))) break;
        }
    const bool whole = std::all_of(box.low.begin(), box.low.end(), [](double x) { return x <= 0; }) &&
                       std::all_of(box.high.begin(), box.high.end(), [](double x) { return x >= 1; });
    while (space.allowed && whole && points.size() < static_cast<std::size_t>(draws) / 4)
        consider(space.allowed->draw(uniform));
    // Near good points: a few coordinates move, by steps of very different lengths.
    for (int i = 0; i < draws / 2 * (space.allowed ? 3 : 1) && !around.empty(); ++i) {
        Point point = around[static_cast<std::size_t>(i) % around.size()];
        const double share = std::max(1.0 / static_cast<double>(dimensions), i % 3 == 0 ? 0.9 : 0.3);
        const double reach = std::pow(10.0, -3 * uniform());
        for (std::size_t d = 0; d < dimensions; ++d) {
            const double moves = uniform(), u = uniform();
            if (moves >= share) continue;
            if (space.categorical[d])
                point[d] = u;
            else
                point[d] = std::clamp(point[d] + reach * (2 * u - 1), box.low[d], box.high[d]);
        }
        consider(std::move(point));
    }
    for (const Point& point : around) consider(point);
    if (points.empty()) points.push_back(canonical_in(space, space.allowed->draw(uniform)));
    const std::vector<double> values = searcher.values(points);
    std::vector<std::pair<double, Point>> candidates;
    for (std::size_t i = 0; i < points.size(); ++i) candidates.emplace_back(values[i], std::move(points[i]));

    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Point> starts;
    double highest = candidates.front().first;
    Point chosen = candidates.front().second;
    for (const auto& [value, point] : candidates) {
        if (starts.size() == refined) break;
        const bool distinct = std::none_of(starts.begin(), starts.end(), [&](const Point& other) {
            for (std::size_t d = 0; d < dimensions; ++d)
                if (std::abs(point[d] - other[d]) > apart * (box.high[d] - box.low[d])) return false;
            return true;
        });
        if (!distinct) continue;
        starts.push_back(point);
        Point refined_point = point;
        if (const double reached = searcher.refine(refined_point, value); reached > highest) {
            highest = reached;
            chosen = std::move(refined_point);
        }
    }
    return chosen;
}

}  // namespace hpo
