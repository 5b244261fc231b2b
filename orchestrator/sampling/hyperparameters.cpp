#include "orchestrator/sampling/hyperparameters.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "orchestrator/sampling/dense.hpp"
#include "orchestrator/sampling/kernel.hpp"
#include "orchestrator/sampling/lbfgs.hpp"
#include "orchestrator/sampling/vectorised.hpp"

namespace hpo {

namespace {

// The bounds of logarithms lie far outside all priors and keep exponentials finite.
constexpr double lowest_fitted = -14, highest = 8, lowest = -30;

/// A normal distribution of a hyperparameter's natural logarithm.
struct Prior {
    double mean, deviation;
    [[nodiscard]] double cost(double value) const {
        const double z = (value - mean) / deviation;
        return z * z / 2;
    }
    [[nodiscard]] double slope(double value) const { return (value - mean) / (deviation * deviation); }
};
constexpr Prior scale_prior{0, 1}, noise_prior{-9, 4}, additive_prior{-1.2, 1.5}, additive_length_prior{-1.2, 1};
constexpr Prior categorical_prior{0, 1.2}, warp_prior{0, 0.5};
Prior length_prior(bool categorical, std::size_t dimensions) {
    return categorical ? categorical_prior : Prior{0.5 * std::log(static_cast<double>(dimensions)), 1};
}

/// The places of hyperparameters in one vector: lengths, scale, noise, warps, additive scale and lengths.
struct Layout {
    explicit Layout(const Hyperparameters& p)
        : dimensions(p.length.size()), warped(p.warp.size() / 2), additive(!p.additive_length.empty()) {}

    [[nodiscard]] std::size_t scale() const { return dimensions; }
    [[nodiscard]] std::size_t noise() const { return dimensions + 1; }
    [[nodiscard]] std::size_t warps() const { return dimensions + 2; }
    [[nodiscard]] std::size_t additive_scale() const { return warps() + 2 * warped; }
    [[nodiscard]] std::size_t additive_lengths() const { return additive_scale() + 1; }

    [[nodiscard]] static std::vector<double> values(const Hyperparameters& p) {
        std::vector<double> all = p.length;
        all.push_back(p.scale);
        all.push_back(p.noise);
        all.insert(all.end(), p.warp.begin(), p.warp.end());
        if (p.additive_length.empty()) return all;
        all.push_back(p.additive);
        all.insert(all.end(), p.additive_length.begin(), p.additive_length.end());
        return all;
    }
    [[nodiscard]] Hyperparameters parameters(std::span<const double> all) const {
        const auto part = [&](std::size_t from, std::size_t count) {
            const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
            return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(count));
        };
        Hyperparameters p;
        p.length = part(0, dimensions);
        p.scale = all[scale()];
        p.noise = all[noise()];
        p.warp = part(warps(), 2 * warped);
        if (!additive) return p;
        p.additive = all[additive_scale()];
        p.additive_length = part(additive_lengths(), dimensions);
        return p;
    }

    std::size_t dimensions;
    std::size_t warped;  ///< the number of coordinates with warps, the first ones
    bool additive;
};

std::vector<Prior> priors_of(const Inputs& inputs, const Layout& layout) {
    const auto of_range = [&](Prior prior, std::size_t d) {
        return Prior{prior.mean + std::log(inputs.range(d)), prior.deviation};
    };
    std::vector<Prior> priors;
    for (std::size_t d = 0; d < layout.dimensions; ++d)
        priors.push_back(of_range(length_prior(inputs.categorical[d], layout.dimensions), d));
    priors.push_back(scale_prior);
    priors.push_back(noise_prior);
    priors.resize(layout.additive_scale(), warp_prior);
    if (!layout.additive) return priors;
    priors.push_back(additive_prior);
    for (std::size_t d = 0; d < layout.dimensions; ++d)
        priors.push_back(of_range(inputs.categorical[d] ? categorical_prior : additive_length_prior, d));
    return priors;
}

/// The negative log posterior and its gradient, which is not computed if `gradient` is empty.
class Posterior {
   public:
    Posterior(const Inputs& inputs, std::span<const double> targets, const Layout& layout)
        : inputs_(inputs),
          layout_(layout),
          priors_(priors_of(inputs, layout)),
          values_(inputs.values),
          by_first_(inputs.in_cube * inputs.count),
          by_second_(inputs.in_cube * inputs.count),
          targets_(inputs.without_trend(targets)),
          squares_(inputs.count),
          sums_(inputs.count),
          slopes_(inputs.count) {}

    HPO_VECTORISED double operator()(std::span<const double> all, std::span<double> gradient) {
        const std::size_t n = inputs_.count, dimensions = inputs_.dimensions();
        const Hyperparameters p = layout_.parameters(all);
        const bool additive = layout_.additive;
        const std::vector<double> relevance = inverse_squares(p.length),
                                  additive_relevance = inverse_squares(p.additive_length);
        const double scale = std::exp(p.scale), noise = std::exp(p.noise) + least_noise;
        const double each = additive ? std::exp(p.additive) / static_cast<double>(dimensions) : 0;

        if (layout_.warped > 0) warp_inputs(p);
        joint_.assign(n * n, 0.0);
        parts_.assign(additive ? n * n : 0, 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            std::fill(sums_.begin(), sums_.begin() + static_cast<std::ptrdiff_t>(i), 0.0);
            for (std::size_t d = 0; d < dimensions; ++d) {
                coordinate_squares(inputs_, values_, d, values_[d * n + i], i, squares_.data());
                for (std::size_t j = 0; j < i; ++j) sums_[j] += relevance[d] * squares_[j];
                if (additive)
                    for (std::size_t j = 0; j < i; ++j)
                        parts_[i * n + j] += each * matern(additive_relevance[d] * squares_[j]);
            }
            for (std::size_t j = 0; j < i; ++j) joint_[i * n + j] = sums_[j];  // the squared distance, for now
        }
        std::vector<double> factor(n * n);
        for (std::size_t i = 0; i < n; ++i) {
            double* row = &factor[i * n];
            const double* squares = &joint_[i * n];
            for (std::size_t j = 0; j < i; ++j) row[j] = scale * matern(squares[j]);
            for (std::size_t j = 0; additive && j < i; ++j) row[j] += parts_[i * n + j];
            factor[i * n + i] = scale + (additive ? std::exp(p.additive) : 0) + noise + inputs_.variance(i);
        }
        std::vector<double> covariance;
        if (!gradient.empty()) covariance = factor;
        if (!cholesky(factor, n)) return std::numeric_limits<double>::infinity();
        const std::vector<double> half = solve_lower(factor, targets_);
        double cost = prior_cost(all, gradient);
        for (std::size_t i = 0; i < n; ++i) cost += half[i] * half[i] / 2 + std::log(factor[i * n + i]);
        if (gradient.empty()) return cost;

        const std::vector<double> inverse = inverse_of_lower(factor, n);
        std::vector<double> weights(n);
        multiply_lower_transposed(inverse, half, weights);

        // The derivative by each hyperparameter: half the sum over i, j of (inverse - w w^T)_ij times the derivative of
        // covariance_ij.
        std::vector<double> pull = gram_of_lower(inverse, n);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j <= i; ++j) pull[i * n + j] -= weights[i] * weights[j];
        double by_scale = 0, by_noise = 0, by_additive = 0;
        for (std::size_t i = 0; i < n; ++i) {
            by_noise += pull[i * n + i] / 2 * (noise - least_noise);
            by_scale += pull[i * n + i] / 2 * scale;
            if (additive) by_additive += pull[i * n + i] / 2 * std::exp(p.additive);
            const double* row = &pull[i * n];
            for (std::size_t j = 0; j < i; ++j) slopes_[j] = row[j] * scale * matern_slope(joint_[i * n + j]);
            const double by_parts = additive ? inner_product(row, &parts_[i * n], i) : 0;
            by_scale += inner_product(row, &covariance[i * n], i) - by_parts;
            by_additive += by_parts;
            for (std::size_t d = 0; d < dimensions; ++d) {
                coordinate_squares(inputs_, values_, d, values_[d * n + i], i, squares_.data());
                gradient[d] -= 2 * relevance[d] * inner_product(slopes_.data(), squares_.data(), i);
                if (d < layout_.warped && !inputs_.categorical[d]) add_warp_gradient(gradient, d, i, 2 * relevance[d]);
                if (!additive) continue;
                for (std::size_t j = 0; j < i; ++j) squares_[j] *= matern_slope(additive_relevance[d] * squares_[j]);
                gradient[layout_.additive_lengths() + d] -=
                    2 * additive_relevance[d] * each * inner_product(row, squares_.data(), i);
            }
        }
        gradient[layout_.scale()] += by_scale;
        gradient[layout_.noise()] += by_noise;
        if (additive) gradient[layout_.additive_scale()] += by_additive;
        return cost;
    }

    /// Returns the logarithm of the likelihood, or minus infinity if the covariance matrix is singular or a
    /// hyperparameter is beyond all reason.
    [[nodiscard]] double log_likelihood(std::span<const double> all) {
        const bool outside = std::any_of(all.begin(), all.end(), [](double x) { return x < lowest || x > highest; });
        const double cost = outside ? INFINITY : (*this)(all, {});
        return std::isfinite(cost) ? prior_cost(all, {}) - cost : -INFINITY;
    }
    [[nodiscard]] const std::vector<Prior>& priors() const { return priors_; }

   private:
    /// Returns the negative log density of the priors. Replaces `gradient` by its derivatives.
    [[nodiscard]] double prior_cost(std::span<const double> all, std::span<double> gradient) const {
        double cost = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            cost += priors_[i].cost(all[i]);
            if (!gradient.empty()) gradient[i] = priors_[i].slope(all[i]);
        }
        return cost;
    }

    void warp_inputs(const Hyperparameters& p) {
        const std::size_t n = inputs_.count;
        for (std::size_t d = 0; d < layout_.warped; ++d) {
            if (inputs_.categorical[d]) continue;
            for (std::size_t i = d * n; i < (d + 1) * n; ++i) {
                const Warp at = warp(inputs_.values[i], p.warp[d], p.warp[layout_.warped + d]);
                values_[i] = at.value;
                by_first_[i] = at.by_first;
                by_second_[i] = at.by_second;
            }
        }
    }

    /// Adds the part of input `i` and those before it, whose derivatives by the squared distance are in `slopes_`.
    void add_warp_gradient(std::span<double> gradient, std::size_t d, std::size_t i, double factor) const {
        const double *x = &values_[d * inputs_.count], *first = &by_first_[d * inputs_.count],
                     *second = &by_second_[d * inputs_.count];
        double by_first = 0, by_second = 0;
        for (std::size_t j = 0; j < i; ++j) {
            const double change = slopes_[j] * (x[i] - x[j]);
            by_first += change * (first[i] - first[j]);
            by_second += change * (second[i] - second[j]);
        }
        gradient[layout_.warps() + d] += factor * by_first;
        gradient[layout_.warps() + layout_.warped + d] += factor * by_second;
    }

    const Inputs& inputs_;
    Layout layout_;
    std::vector<Prior> priors_;
    std::vector<double> values_;                ///< the coordinates of the inputs, warped
    std::vector<double> by_first_, by_second_;  ///< their derivatives by the logarithms of the exponents
    std::vector<double> targets_;
    std::vector<double> squares_, sums_, slopes_, joint_, parts_;
};

}  // namespace

std::vector<double> Inputs::row(std::size_t i) const {
    std::vector<double> coordinates(dimensions());
    for (std::size_t d = 0; d < coordinates.size(); ++d) coordinates[d] = at(i, d);
    return coordinates;
}

std::vector<double> Inputs::without_trend(std::span<const double> targets) const {
    std::vector<double> rest(targets.begin(), targets.end());
    for (std::size_t d = 0; d < slopes.size(); ++d)
        if (slopes[d] != 0)
            for (std::size_t i = 0; i < count; ++i) rest[i] -= slopes[d] * at(i, d);
    return rest;
}

Hyperparameters prior_hyperparameters(const Inputs& inputs, Kernel kernel) {
    Hyperparameters p;
    for (const bool c : inputs.categorical) p.length.push_back(length_prior(c, inputs.dimensions()).mean);
    if (kernel == Kernel::warped) p.warp.assign(2 * inputs.in_cube, warp_prior.mean);
    if (kernel == Kernel::additive)
        for (const bool c : inputs.categorical)
            p.additive_length.push_back(c ? categorical_prior.mean : additive_length_prior.mean);
    return p;
}

Fit fit(const Inputs& inputs, std::span<const double> targets, const Hyperparameters& start, int iterations,
        double noise_floor) {
    const Layout layout(start);
    Posterior posterior(inputs, targets, layout);
    const std::vector<double> from = Layout::values(start);
    std::vector<double> low(from.size(), lowest_fitted), high(from.size(), highest);
    low[layout.noise()] = noise_floor;
    const Minimum found = minimise([&](auto x, auto gradient) { return posterior(x, gradient); }, from, low, high,
                                   {.iterations = iterations, .tolerance = 1e-3, .first_step = 0.5});
    return {layout.parameters(found.x), std::isfinite(found.value) ? found.value : INFINITY};
}

double cost(const Inputs& inputs, std::span<const double> targets, const Hyperparameters& parameters) {
    const double found = Posterior(inputs, targets, Layout(parameters))(Layout::values(parameters), {});
    return std::isfinite(found) ? found : INFINITY;
}

Hyperparameters draw_hyperparameters(const Inputs& inputs, std::span<const double> targets,
                                     const Hyperparameters& start, int steps, const std::function<double()>& uniform) {
    constexpr double turn = 2 * std::numbers::pi;
    constexpr int most_tries = 30;  // of a step: the bracket shrinks to the current point
    const Layout layout(start);
    Posterior posterior(inputs, targets, layout);
    std::vector<double> at = Layout::values(start);
    const std::vector<Prior>& priors = posterior.priors();
    double reached = posterior.log_likelihood(at);
    if (!std::isfinite(reached)) return start;
    std::vector<double> aside(at.size()), moved(at.size());
    for (int step = 0; step < steps; ++step) {
        for (std::size_t i = 0; i < at.size(); ++i) {
            const double radius = std::sqrt(-2 * std::log(1 - uniform()));
            aside[i] = priors[i].deviation * radius * std::cos(turn * uniform());
        }
        const double level = reached + std::log(1 - uniform());
        double angle = turn * uniform(), low = angle - turn, high = angle;
        for (int tries = 0; tries < most_tries; ++tries) {
            for (std::size_t i = 0; i < at.size(); ++i)
                moved[i] = priors[i].mean + (at[i] - priors[i].mean) * std::cos(angle) + aside[i] * std::sin(angle);
            if (const double there = posterior.log_likelihood(moved); there > level) {
                at.swap(moved);
                reached = there;
                break;
            }
            (angle < 0 ? low : high) = angle;
            angle = low + (high - low) * uniform();
        }
    }
    return layout.parameters(at);
}

}  // namespace hpo
