#include "orchestrator/sampling/parzen.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hpo {

namespace {

constexpr double inactive = -1;

/// Returns the mass of N(centre, deviation) inside [0, 1].
double mass_inside(double centre, double deviation) {
    const double root = deviation * std::numbers::sqrt2;
    return 0.5 * (std::erf((1 - centre) / root) + std::erf(centre / root));
}

/// Draws by rejection. With a centre in [0, 1] and a deviation below 1, at least a third of the draws are kept.
double truncated_normal(double centre, double deviation, const std::function<double()>& uniform) {
    for (;;) {
        const double radius = std::sqrt(-2 * std::log(1 - uniform()));
        const double x = centre + deviation * radius * std::cos(2 * std::numbers::pi * uniform());
        if (x >= 0 && x <= 1) return x;
    }
}

/// Scott's rule, n^(-1/(d+4)) times the deviation of the centres, times 0.7: it narrows as the good trials draw
/// together and keeps dimensions that do not matter wide. The prior counts among the centres, so that few centres do
/// not narrow it much; the floor is Watanabe's.
double bandwidth(std::span<const Site* const> sites, std::size_t dimension, double prior_weight) {
    constexpr double uniform_mean = 0.5, uniform_square = 1.0 / 3;
    double weight = prior_weight, sum = prior_weight * uniform_mean, squares = prior_weight * uniform_square;
    for (const Site* site : sites) {
        if (!site->active[dimension]) continue;
        const double x = site->point[dimension];
        weight += 1;
        sum += x;
        squares += x * x;
    }
    const double mean = sum / weight;
    const double deviation = std::sqrt(std::max(squares / weight - mean * mean, 0.0));
    const double exponent = -1 / (static_cast<double>(sites.empty() ? 0 : sites[0]->point.size()) + 4);
    return std::clamp(0.7 * deviation * std::pow(weight, exponent), 0.03, 0.5);
}

}  // namespace

std::size_t choice_at(double coordinate, std::size_t count) {
    return std::min(static_cast<std::size_t>(coordinate * static_cast<double>(count)), count - 1);
}

ParzenEstimator::ParzenEstimator(const ChoiceCounts& choices, std::span<const Site* const> sites, double prior_weight)
    : choices_(choices), count_(sites.size()), prior_weight_(prior_weight) {
    const std::size_t dimensions = choices.size();
    const double n = static_cast<double>(count_);
    bandwidth_.resize(dimensions);
    for (std::size_t d = 0; d < dimensions; ++d) bandwidth_[d] = bandwidth(sites, d, prior_weight);
    centres_.resize(count_ * dimensions);
    heights_.resize(count_ * dimensions);
    own_.resize(dimensions);
    other_.resize(dimensions);
    for (std::size_t d = 0; d < dimensions; ++d) {
        if (choices[d] == 0) continue;
        const double c = static_cast<double>(choices[d]);
        const double spread = c / (n + 1 + c);  // evenly spread mass: one pseudo-count for each choice over n + 1
        other_[d] = spread;
        own_[d] = spread + (1 - spread) * c;
    }
    for (std::size_t i = 0; i < count_; ++i) {
        for (std::size_t d = 0; d < dimensions; ++d) {
            const double x = sites[i]->point[d];
            const std::size_t at = i * dimensions + d;
            if (!sites[i]->active[d]) {
                centres_[at] = inactive;
            } else if (choices[d]) {
                centres_[at] = static_cast<double>(choice_at(x, choices[d]));
            } else {
                centres_[at] = x;
                heights_[at] = 1 / (bandwidth_[d] * std::sqrt(2 * std::numbers::pi) * mass_inside(x, bandwidth_[d]));
            }
        }
    }
}

Point ParzenEstimator::sample(const std::function<double()>& uniform) const {
    const std::size_t dimensions = choices_.size();
    Point point(dimensions);
    const double pick = uniform() * (static_cast<double>(count_) + prior_weight_);
    const auto kernel = static_cast<std::size_t>(pick);
    for (std::size_t d = 0; d < dimensions; ++d) {
        const double centre = kernel < count_ ? centres_[kernel * dimensions + d] : inactive;
        if (centre == inactive) {
            point[d] = uniform();
        } else if (choices_[d] == 0) {
            point[d] = truncated_normal(centre, bandwidth_[d], uniform);
        } else {
            const double c = static_cast<double>(choices_[d]);
            const double u = uniform();
            // `other_[d]` is the evenly spread mass, within which every choice is equally likely.
            const double choice = u < other_[d] ? std::min(std::floor(u / other_[d] * c), c - 1) : centre;
            point[d] = (choice + 0.5) / c;
        }
    }
    return point;
}

double ParzenEstimator::density(const Site& site) const {
    const std::size_t dimensions = choices_.size();
    double total = prior_weight_;
    for (std::size_t i = 0; i < count_; ++i) {
        const double* const centre = &centres_[i * dimensions];
        const double* const height = &heights_[i * dimensions];
        double factor = 1;
        double distance = 0;
        for (std::size_t d = 0; d < dimensions; ++d) {
            if (centre[d] == inactive || !site.active[d]) continue;
            if (choices_[d]) {
                factor *= static_cast<double>(choice_at(site.point[d], choices_[d])) == centre[d] ? own_[d] : other_[d];
            } else {
                const double off = (site.point[d] - centre[d]) / bandwidth_[d];
                distance += off * off;
                factor *= height[d];
            }
        }
        total += factor * std::exp(-0.5 * distance);
    }
    return total / (static_cast<double>(count_) + prior_weight_);
}

}  // namespace hpo
