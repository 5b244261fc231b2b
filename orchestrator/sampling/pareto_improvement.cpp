#include "orchestrator/sampling/pareto_improvement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace hpo {

namespace {

/// Nodes and weights of Gauss and Legendre on [-1, 1], for the positive half; the other is its mirror image.
constexpr std::array<double, 4> nodes{0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363};
constexpr std::array<double, 4> node_weights{0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
                                             0.1012285362903763};
constexpr double tail = 4;  ///< deviations beyond which a normal variable's density is left out

double log_of_sum(double a, double b) {
    const double most = std::max(a, b);
    return most == -INFINITY ? most : most + std::log1p(std::exp(std::min(a, b) - most));
}

}  // namespace

ParetoImprovement::ParetoImprovement(std::vector<const GaussianProcess*> objectives, std::vector<Bounded> constraints,
                                     const std::vector<std::vector<double>>& front,
                                     std::vector<std::vector<double>> directions, double beyond)
    : objectives_(std::move(objectives)),
      constraints_(std::move(constraints)),
      directions_(std::move(directions)),
      has_front_(!front.empty()) {
    if (objectives_.size() == 1) directions_ = {{1.0}};
    if (!has_front_) return;
    for (std::size_t m = 0; m < objectives_.size(); ++m) {
        double least = INFINITY, most = -INFINITY;
        for (const auto& point : front) least = std::min(least, point[m]), most = std::max(most, point[m]);
        // If the front has no extent, the unit is the standard deviation of all values.
        reference_.push_back(objectives_.size() == 1 ? least : most + beyond * (most > least ? most - least : 1));
    }
    for (const auto& w : directions_) {
        double furthest = 0;
        for (const auto& point : front) {
            double reach = INFINITY;
            for (std::size_t m = 0; m < w.size(); ++m) reach = std::min(reach, (reference_[m] - point[m]) / w[m]);
            furthest = std::max(furthest, reach);
        }
        reached_.push_back(furthest);
    }
}

// Returns the logarithm of the expected growth. The slopes treat the limits of the integrals as constants.
double ParetoImprovement::growth(std::span<const Prediction> predictions, std::span<Slope> slopes) const {
    const std::size_t objectives = objectives_.size();
    if (objectives == 1) {  // the expected improvement below the front's only value
        const auto& [mean, deviation] = predictions[0];
        const double z = (reference_[0] - mean) / deviation;
        const double log_value = log_expected_improvement(predictions[0], reference_[0]);
        slopes[0].by_mean -= std::exp(log_probability(z) - log_value);
        slopes[0].by_deviation += std::exp(-z * z / 2 - 0.91893853320467274178 - log_value);
        return log_value;
    }
    double total = -INFINITY;
    std::vector<Slope> sums(objectives);
    std::vector<double> z(objectives);
    for (std::size_t k = 0; k < directions_.size(); ++k) {
        const auto& w = directions_[k];
        const double from = reached_[k];
        // Beyond the upper end, one objective almost surely fails to reach t. The density of an unlikely point falls
        // off within a fraction of a deviation above the lower end.
        double upper = INFINITY, width = INFINITY;
        for (std::size_t m = 0; m < objectives; ++m) {
            const auto& [mean, deviation] = predictions[m];
            upper = std::min(upper, (reference_[m] - mean + tail * deviation) / w[m]);
            const double short_by = std::max(1.0, (from * w[m] + mean - reference_[m]) / deviation);
            width = std::min(width, tail * deviation / w[m] / short_by);
        }
        const double half = std::max(upper - from, width) / 2;
        for (std::size_t node = 0; node < 2 * nodes.size(); ++node) {
            const std::size_t i = node / 2;
            const double t = from + half * (node % 2 == 0 ? 1 + nodes[i] : 1 - nodes[i]);
            double log_term = std::log(half * node_weights[i] * static_cast<double>(objectives)) +
                              static_cast<double>(objectives - 1) * std::log(t);
            for (std::size_t m = 0; m < objectives; ++m) {
                z[m] = (reference_[m] - t * w[m] - predictions[m].mean) / predictions[m].deviation;
                log_term += log_probability(z[m]);
            }
            const double before = total;
            total = log_of_sum(total, log_term);
            const double share = std::exp(log_term - total), keeps = std::exp(before - total);
            for (std::size_t m = 0; m < objectives; ++m) {
                const double slope = log_probability_slope(z[m]) / predictions[m].deviation;
                sums[m].by_mean = keeps * sums[m].by_mean - share * slope;
                sums[m].by_deviation = keeps * sums[m].by_deviation - share * slope * z[m];
            }
        }
    }
    for (std::size_t m = 0; m < objectives; ++m) {
        slopes[m].by_mean += sums[m].by_mean;
        slopes[m].by_deviation += sums[m].by_deviation;
    }
    return total - std::log(static_cast<double>(directions_.size()));
}

std::vector<double> ParetoImprovement::values(const std::vector<std::vector<double>>& inputs) const {
    std::vector<double> all(inputs.size(), 0.0);
    if (has_front_) {
        std::vector<std::vector<Prediction>> predictions;
        for (const GaussianProcess* process : objectives_) predictions.push_back(process->predict_all(inputs));
        std::vector<Prediction> at(objectives_.size());
        std::vector<Slope> unused(objectives_.size());
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            for (std::size_t m = 0; m < at.size(); ++m) at[m] = predictions[m][i];
            all[i] = growth(at, unused);
        }
    }
    for (const Bounded& constraint : constraints_) {
        const auto predictions = constraint.process->predict_all(inputs);
        for (std::size_t i = 0; i < inputs.size(); ++i)
            all[i] += log_probability((constraint.bound - predictions[i].mean) / predictions[i].deviation);
    }
    return all;
}

double ParetoImprovement::value(std::span<const double> input, std::span<double> gradient) const {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    std::vector<double> by_mean(input.size()), by_deviation(input.size());
    const auto add = [&](const Slope& slope) {
        for (std::size_t d = 0; d < input.size(); ++d)
            gradient[d] += slope.by_mean * by_mean[d] + slope.by_deviation * by_deviation[d];
    };
    double total = 0;
    if (has_front_) {
        std::vector<Prediction> at;
        for (const GaussianProcess* process : objectives_) at.push_back(process->predict(input));
        std::vector<Slope> slopes(at.size());
        total = growth(at, slopes);
        for (std::size_t m = 0; m < at.size(); ++m) {
            objectives_[m]->predict(input, by_mean, by_deviation);
            add(slopes[m]);
        }
    }
    for (const Bounded& constraint : constraints_) {
        const Prediction at = constraint.process->predict(input, by_mean, by_deviation);
        const double z = (constraint.bound - at.mean) / at.deviation;
        total += log_probability(z);
        const double slope = log_probability_slope(z) / at.deviation;
        add({-slope, -slope * z});
    }
    return total;
}

std::vector<std::vector<double>> positive_directions(std::size_t objectives, std::size_t count,
                                                     const std::function<double()>& uniform) {
    constexpr double least = 1e-3;  // a direction along an axis would ignore the others
    std::vector<std::vector<double>> directions;
    for (std::size_t k = 0; k < count; ++k) {
        std::vector<double> w(objectives);
        if (objectives == 2) {
            const double angle =
                (static_cast<double>(k) + uniform()) / static_cast<double>(count) * std::numbers::pi / 2;
            w = {std::cos(angle), std::sin(angle)};
        } else {  // normalised vectors of normal variables are uniform on the sphere
            for (double& x : w)
                x = std::abs(std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform()));
        }
        double square = 0;
        for (double& x : w) x = std::max(x, least), square += x * x;
        for (double& x : w) x /= std::sqrt(square);
        directions.push_back(std::move(w));
    }
    return directions;
}

}  // namespace hpo
