#include "orchestrator/sampling/beliefs.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hpo {

namespace {

constexpr double uniform_part = 0.2;       // uniform share of a belief's density
constexpr double default_spread = 0.1;     // standard deviation, as a share of the range
constexpr double usual_spread = 0.3;       // of weak beliefs
constexpr double results_per_power = 5.0;  // number of results at which the density's power is 1

double normal_mass(double from, double to) {
    return 0.5 * (std::erf(to / std::numbers::sqrt2) - std::erf(from / std::numbers::sqrt2));
}

std::size_t choice_of(double coordinate, std::size_t choices) {
    return std::min(static_cast<std::size_t>(coordinate * static_cast<double>(choices)), choices - 1);
}

}  // namespace

Beliefs Beliefs::of(const Space& space, const std::function<double(std::size_t dimension)>& preferred) {
    Beliefs made;
    for (std::size_t d = 0; d < space.size(); ++d) {
        if (!space[d].prior) continue;
        made.add(d, preferred(d), space[d].spread.value_or(default_spread),
                 space[d].kind == Kind::categorical ? space[d].choices.size() : 0);
    }
    return made;
}

Beliefs Beliefs::in_usual_values(const Space& space, const Point& usual) {
    Beliefs made;
    for (std::size_t d = 0; d < space.size(); ++d)
        if (!space[d].prior && space[d].kind != Kind::categorical) made.add(d, usual[d], usual_spread, 0);
    return made;
}

void Beliefs::add(std::size_t dimension, double centre, double deviation, std::size_t choices) {
    dimensions_.push_back(
        {dimension, centre, deviation, choices, normal_mass(-centre / deviation, (1 - centre) / deviation)});
}

double Beliefs::density(const Belief& belief, double coordinate) {
    if (belief.choices > 0) {
        const bool preferred = choice_of(coordinate, belief.choices) == choice_of(belief.centre, belief.choices);
        return uniform_part + (preferred ? (1 - uniform_part) * static_cast<double>(belief.choices) : 0);
    }
    const double z = (coordinate - belief.centre) / belief.deviation;
    const double height = 1 / (std::sqrt(2 * std::numbers::pi) * belief.deviation * belief.mass);
    return uniform_part + (1 - uniform_part) * height * std::exp(-z * z / 2);
}

Point Beliefs::preferred(std::size_t dimensions) const {
    Point point(dimensions, 0.5);
    for (const Belief& belief : dimensions_) point[belief.dimension] = belief.centre;
    return point;
}

std::optional<Point> Beliefs::start(std::uint64_t trial, int retry, std::size_t dimensions,
                                    const std::function<double()>& uniform) const {
    if (trial == 1 && retry == 0) return preferred(dimensions);
    if (trial % 2 == 0) return std::nullopt;
    return draw(dimensions, uniform);
}

Point Beliefs::draw(std::size_t dimensions, const std::function<double()>& uniform) const {
    Point point(dimensions);
    for (double& x : point) x = uniform();
    for (const Belief& belief : dimensions_) {
        if (uniform() < uniform_part) continue;
        double& x = point[belief.dimension];
        if (belief.choices > 0) {
            x = belief.centre;
            continue;
        }
        // Rejection sampling needs two tries on average at most, since the centre lies in the range.
        do
            x = belief.centre +
                belief.deviation * std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform());
        while (x < 0 || x > 1);
    }
    return point;
}

double Beliefs::log_density(std::span<const double> point, const std::vector<bool>& active) const {
    double sum = 0;
    for (const Belief& belief : dimensions_)
        if (active[belief.dimension]) sum += std::log(density(belief, point[belief.dimension]));
    return sum;
}

void Beliefs::add_slope(std::span<const double> point, double factor, std::span<double> slope) const {
    for (const Belief& belief : dimensions_) {
        if (belief.choices > 0) continue;
        const double at = density(belief, point[belief.dimension]);
        const double offset = belief.centre - point[belief.dimension];
        slope[belief.dimension] += factor * (at - uniform_part) / at * offset / (belief.deviation * belief.deviation);
    }
}

double Beliefs::power(std::size_t results) {
    return results_per_power / static_cast<double>(std::max<std::size_t>(results, 1));
}

// An input holds the indices of categories, and a point their coordinates.
Point Believed::point_of(std::span<const double> input) const {
    Point point(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(space_.categorical.size()));
    for (std::size_t d = 0; d < point.size(); ++d)
        if (space_.categorical[d]) point[d] = (std::max(point[d], 0.0) + 0.5) / static_cast<double>(space_.bins[d]);
    return point;
}

std::vector<double> Believed::values(const std::vector<std::vector<double>>& inputs) const {
    std::vector<double> all = inner_.values(inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Point point = point_of(inputs[i]);
        all[i] += power_ * beliefs_.log_density(point, space_.active(point));
    }
    return all;
}

double Believed::value(std::span<const double> input, std::span<double> gradient) const {
    const double inner = inner_.value(input, gradient);
    const Point point = point_of(input);
    const std::vector<bool> active = space_.active(point);
    beliefs_.add_slope(point, power_, gradient);  // inactive coordinates are never moved
    return inner + power_ * beliefs_.log_density(point, active);
}

}  // namespace hpo
