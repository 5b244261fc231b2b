#include "orchestrator/sampling/gaussian_process.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "orchestrator/sampling/dense.hpp"
#include "orchestrator/sampling/lbfgs.hpp"
#include "orchestrator/sampling/vectorised.hpp"

namespace hpo {

namespace {

constexpr double least_noise = 1e-8;

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
constexpr Prior categorical_prior{0, 1.2};
Prior length_prior(bool categorical, std::size_t dimensions) {
    return categorical ? categorical_prior : Prior{0.5 * std::log(static_cast<double>(dimensions)), 1};
}

// Matern 5/2 of a squared distance, and its derivative with respect to it. `negative_exp` returns exp of a number that
// is not positive, in a form that compilers vectorise: e^x = 2^k e^r with |r| <= ln 2 / 2, and a polynomial for e^r.
inline double negative_exp(double x) {
    constexpr double round = 0x1.8p52;  // adding and subtracting it rounds to the nearest integer
    x = x < -700.0 ? -700.0 : x;
    const double shifted = x * 1.4426950408889634 + round;
    const double k = shifted - round;
    const double r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800;
    for (const double c : {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                           1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
        p = p * r + c;
    // The low bits of `shifted` hold the integer k. Shifted to the exponent's bits, they multiply by 2^k.
    return std::bit_cast<double>(std::bit_cast<std::int64_t>(p) + (std::bit_cast<std::int64_t>(shifted) << 52));
}
inline double matern(double square) {
    const double u = std::sqrt(5 * square);
    return (1 + u + u * u / 3) * negative_exp(-u);
}
inline double matern_slope(double square) {
    const double u = std::sqrt(5 * square);
    return -5.0 / 6 * (1 + u) * negative_exp(-u);
}

/// In lanes, which compilers vectorise.
inline double inner_product(const double* x, const double* y, std::size_t count) {
    constexpr std::size_t lanes = 8;
    double sums[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += x[i + lane] * y[i + lane];
    for (; i < count; ++i) sums[0] += x[i] * y[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// Computes the squared distances in coordinate `d` between `x` and the inputs before `end`.
inline void coordinate_squares(const Inputs& inputs, std::size_t d, double x, std::size_t end, double* squares) {
    const double* column = &inputs.values[d * inputs.count];
    if (inputs.categorical[d])
        for (std::size_t j = 0; j < end; ++j) squares[j] = column[j] == x ? 0.0 : 1.0;
    else
        for (std::size_t j = 0; j < end; ++j) squares[j] = (column[j] - x) * (column[j] - x);
}

/// Hyperparameters as one vector: lengths, scale, noise[, additive, additive lengths].
std::vector<double> flatten(const Hyperparameters& p) {
    std::vector<double> all = p.length;
    all.push_back(p.scale);
    all.push_back(p.noise);
    if (p.additive_length.empty()) return all;
    all.push_back(p.additive);
    all.insert(all.end(), p.additive_length.begin(), p.additive_length.end());
    return all;
}
Hyperparameters unflatten(std::span<const double> all, std::size_t dimensions) {
    Hyperparameters p;
    p.length.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(dimensions));
    p.scale = all[dimensions];
    p.noise = all[dimensions + 1];
    if (all.size() == dimensions + 2) return p;
    p.additive = all[dimensions + 2];
    p.additive_length.assign(all.begin() + static_cast<std::ptrdiff_t>(dimensions) + 3, all.end());
    return p;
}

std::vector<double> inverse_squares(const std::vector<double>& logarithms) {
    std::vector<double> all;
    for (const double l : logarithms) all.push_back(std::exp(-2 * l));
    return all;
}

/// The negative log posterior and its gradient, which is not computed if `gradient` is empty.
class Posterior {
   public:
    Posterior(const Inputs& inputs, std::span<const double> targets)
        : inputs_(inputs),
          targets_(inputs.without_trend(targets)),
          squares_(inputs.count),
          sums_(inputs.count),
          slopes_(inputs.count) {}

    HPO_VECTORISED double operator()(std::span<const double> all, std::span<double> gradient) {
        const std::size_t n = inputs_.count, dimensions = inputs_.dimensions();
        const Hyperparameters p = unflatten(all, dimensions);
        const bool additive = !p.additive_length.empty();
        const std::vector<double> relevance = inverse_squares(p.length),
                                  additive_relevance = inverse_squares(p.additive_length);
        const double scale = std::exp(p.scale), noise = std::exp(p.noise) + least_noise;
        const double each = additive ? std::exp(p.additive) / static_cast<double>(dimensions) : 0;

        joint_.assign(n * n, 0.0);
        parts_.assign(additive ? n * n : 0, 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            std::fill(sums_.begin(), sums_.begin() + static_cast<std::ptrdiff_t>(i), 0.0);
            for (std::size_t d = 0; d < dimensions; ++d) {
                coordinate_squares(inputs_, d, inputs_.at(i, d), i, squares_.data());
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
                coordinate_squares(inputs_, d, inputs_.at(i, d), i, squares_.data());
                gradient[d] -= 2 * relevance[d] * inner_product(slopes_.data(), squares_.data(), i);
                if (!additive) continue;
                for (std::size_t j = 0; j < i; ++j) squares_[j] *= matern_slope(additive_relevance[d] * squares_[j]);
                gradient[dimensions + 3 + d] -=
                    2 * additive_relevance[d] * each * inner_product(row, squares_.data(), i);
            }
        }
        gradient[dimensions] += by_scale;
        gradient[dimensions + 1] += by_noise;
        if (additive) gradient[dimensions + 2] += by_additive;
        return cost;
    }

   private:
    /// Returns the negative log density of the priors. Replaces `gradient` by its derivatives.
    double prior_cost(std::span<const double> all, std::span<double> gradient) const {
        const std::size_t dimensions = inputs_.dimensions();
        double cost = 0;
        const auto add = [&](std::size_t index, const Prior& prior, double range = 1) {
            const double value = all[index] - std::log(range);
            cost += prior.cost(value);
            if (!gradient.empty()) gradient[index] = prior.slope(value);
        };
        for (std::size_t d = 0; d < dimensions; ++d)
            add(d, length_prior(inputs_.categorical[d], dimensions), inputs_.range(d));
        add(dimensions, scale_prior);
        add(dimensions + 1, noise_prior);
        if (all.size() == dimensions + 2) return cost;
        add(dimensions + 2, additive_prior);
        for (std::size_t d = 0; d < dimensions; ++d)
            add(dimensions + 3 + d, inputs_.categorical[d] ? categorical_prior : additive_length_prior,
                inputs_.range(d));
        return cost;
    }

    const Inputs& inputs_;
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

Hyperparameters prior_hyperparameters(const std::vector<bool>& categorical, bool additive) {
    Hyperparameters p;
    for (const bool c : categorical) p.length.push_back(length_prior(c, categorical.size()).mean);
    if (additive)
        for (const bool c : categorical)
            p.additive_length.push_back(c ? categorical_prior.mean : additive_length_prior.mean);
    return p;
}

Fit fit(const Inputs& inputs, std::span<const double> targets, const Hyperparameters& start, int iterations,
        double noise_floor) {
    Posterior posterior(inputs, targets);
    const std::vector<double> from = flatten(start);
    // The bounds lie far outside all priors and keep exponentials finite.
    std::vector<double> low(from.size(), -14.0), high(from.size(), 8.0);
    low[inputs.dimensions() + 1] = noise_floor;
    const Minimum found = minimise([&](auto x, auto gradient) { return posterior(x, gradient); }, from, low, high,
                                   {.iterations = iterations, .tolerance = 1e-3, .first_step = 0.5});
    return {unflatten(found.x, inputs.dimensions()),
            std::isfinite(found.value) ? found.value : std::numeric_limits<double>::infinity()};
}

double cost(const Inputs& inputs, std::span<const double> targets, const Hyperparameters& parameters) {
    const double found = Posterior(inputs, targets)(flatten(parameters), {});
    return std::isfinite(found) ? found : std::numeric_limits<double>::infinity();
}

GaussianProcess::GaussianProcess(Inputs inputs, std::span<const double> targets, Hyperparameters parameters)
    : inputs_(std::move(inputs)),
      targets_(targets.begin(), targets.end()),
      relevance_(inverse_squares(parameters.length)),
      additive_relevance_(inverse_squares(parameters.additive_length)),
      scale_(std::exp(parameters.scale)) {
    const std::size_t n = inputs_.count, dimensions = inputs_.dimensions();
    const bool additive = !additive_relevance_.empty();
    additive_ = additive ? std::exp(parameters.additive) / static_cast<double>(dimensions) : 0;
    std::vector<double> covariance(n * n);
    Scratch scratch;
    for (std::size_t i = 0; i < n; ++i) {
        covariances(inputs_.row(i), i + 1, scratch);
        std::copy(scratch.covariance.begin(), scratch.covariance.end(),
                  covariance.begin() + static_cast<std::ptrdiff_t>(i * n));
    }
    std::vector<double> factor;
    for (double noise = std::exp(parameters.noise) + least_noise;; noise = noise * 10) {
        factor = covariance;
        for (std::size_t i = 0; i < n; ++i) factor[i * n + i] += noise + inputs_.variance(i);
        if (cholesky(factor, n)) break;
    }
    inverse_ = inverse_of_lower(factor, n);
    std::vector<double> half(n);
    weights_.resize(n);
    multiply_lower(inverse_, inputs_.without_trend(targets_), half);
    multiply_lower_transposed(inverse_, half, weights_);
}

HPO_VECTORISED void GaussianProcess::covariances(std::span<const double> x, std::size_t count, Scratch& scratch) const {
    scratch.sums.assign(count, 0.0);
    scratch.covariance.assign(count, 0.0);
    scratch.squares.resize(count);
    for (std::size_t d = 0; d < inputs_.dimensions(); ++d) {
        coordinate_squares(inputs_, d, x[d], count, scratch.squares.data());
        for (std::size_t j = 0; j < count; ++j) scratch.sums[j] += relevance_[d] * scratch.squares[j];
        if (additive_relevance_.empty()) continue;
        for (std::size_t j = 0; j < count; ++j)
            scratch.covariance[j] += additive_ * matern(additive_relevance_[d] * scratch.squares[j]);
    }
    for (std::size_t j = 0; j < count; ++j) scratch.covariance[j] += scale_ * matern(scratch.sums[j]);
}

double GaussianProcess::prior_variance() const {
    return scale_ + additive_ * static_cast<double>(additive_relevance_.size());
}

double GaussianProcess::mean(std::span<const double> x) const {
    Scratch scratch;
    covariances(x, inputs_.count, scratch);
    return std::inner_product(weights_.begin(), weights_.end(), scratch.covariance.begin(), inputs_.trend(x));
}

GaussianProcess::Prediction GaussianProcess::predict(std::span<const double> x) const {
    return predict_all(std::vector<std::vector<double>>{{x.begin(), x.end()}}).front();
}

std::vector<GaussianProcess::Prediction> GaussianProcess::predict_all(
    const std::vector<std::vector<double>>& points) const {
    const std::size_t n = inputs_.count;
    std::vector<Prediction> predictions(points.size());
    std::vector<double> columns(n * column_block), squares(column_block);
    Scratch scratch;
    for (std::size_t first = 0; first < points.size(); first += column_block) {
        const std::size_t count = std::min(column_block, points.size() - first);
        for (std::size_t p = 0; p < count; ++p) {
            covariances(points[first + p], n, scratch);
            predictions[first + p].mean = std::inner_product(
                weights_.begin(), weights_.end(), scratch.covariance.begin(), inputs_.trend(points[first + p]));
            for (std::size_t i = 0; i < n; ++i) columns[i * column_block + p] = scratch.covariance[i];
        }
        squared_norms_of_product(inverse_, columns, squares);
        for (std::size_t p = 0; p < count; ++p)
            predictions[first + p].deviation = std::sqrt(std::max(prior_variance() - squares[p], 1e-20));
    }
    return predictions;
}

HPO_VECTORISED GaussianProcess::Prediction GaussianProcess::predict(std::span<const double> x,
                                                                    std::span<double> mean_gradient,
                                                                    std::span<double> deviation_gradient) const {
    const std::size_t n = inputs_.count, dimensions = inputs_.dimensions();
    Scratch scratch;
    covariances(x, n, scratch);
    std::vector<double> half(n), solved(n), joint_slope(n);
    for (std::size_t j = 0; j < n; ++j) joint_slope[j] = scale_ * matern_slope(scratch.sums[j]);
    multiply_lower(inverse_, scratch.covariance, half);
    multiply_lower_transposed(inverse_, half, solved);
    Prediction p;
    p.mean = std::inner_product(weights_.begin(), weights_.end(), scratch.covariance.begin(), inputs_.trend(x));
    const double variance = prior_variance() - std::inner_product(half.begin(), half.end(), half.begin(), 0.0);
    p.deviation = std::sqrt(std::max(variance, 1e-20));
    for (std::size_t d = 0; d < dimensions; ++d) {
        mean_gradient[d] = deviation_gradient[d] = 0;
        if (inputs_.categorical[d]) continue;
        const double* column = &inputs_.values[d * n];
        double by_mean = 0, by_variance = 0;
        for (std::size_t j = 0; j < n; ++j) {
            const double difference = x[d] - column[j];
            double slope = joint_slope[j] * relevance_[d];
            if (!additive_relevance_.empty())
                slope +=
                    additive_ * additive_relevance_[d] * matern_slope(additive_relevance_[d] * difference * difference);
            const double change = 2 * slope * difference;
            by_mean += weights_[j] * change;
            by_variance -= 2 * solved[j] * change;
        }
        mean_gradient[d] = by_mean + (inputs_.slopes.empty() ? 0 : inputs_.slopes[d]);
        if (variance > 1e-20) deviation_gradient[d] = by_variance / (2 * p.deviation);
    }
    return p;
}

std::vector<double> GaussianProcess::covariance(const std::vector<std::size_t>& some) const {
    const std::size_t n = inputs_.count, count = some.size();
    std::vector<double> matrix(count * count);
    std::vector<std::vector<double>> explained(count, std::vector<double>(n));
    Scratch scratch;
    for (std::size_t i = 0; i < count; ++i) {
        covariances(inputs_.row(some[i]), n, scratch);
        multiply_lower(inverse_, scratch.covariance, explained[i]);
        for (std::size_t j = 0; j <= i; ++j)
            matrix[i * count + j] = matrix[j * count + i] =
                scratch.covariance[some[j]] -
                std::inner_product(explained[i].begin(), explained[i].end(), explained[j].begin(), 0.0);
    }
    return matrix;
}

std::vector<GaussianProcess::Prediction> GaussianProcess::leave_one_out() const {
    const std::size_t n = inputs_.count;
    std::vector<double> diagonal(n, 0.0);
    std::vector<Prediction> predictions(n);
    for (std::size_t k = 0; k < n; ++k)
        for (std::size_t i = 0; i <= k; ++i) diagonal[i] += inverse_[k * n + i] * inverse_[k * n + i];
    for (std::size_t i = 0; i < n; ++i)
        predictions[i] = {targets_[i] - weights_[i] / diagonal[i], std::sqrt(1 / diagonal[i])};
    return predictions;
}

}  // namespace hpo
