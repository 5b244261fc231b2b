#include "orchestrator/sampling/gaussian_process.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "orchestrator/sampling/dense.hpp"
#include "orchestrator/sampling/kernel.hpp"
#include "orchestrator/sampling/vectorised.hpp"

namespace hpo {

GaussianProcess::GaussianProcess(Inputs inputs, std::span<const double> targets, Hyperparameters parameters)
    : inputs_(std::move(inputs)),
      warps_(std::move(parameters.warp)),
      warped_(inputs_.values),
      targets_(targets.begin(), targets.end()),
      relevance_(inverse_squares(parameters.length)),
      additive_relevance_(inverse_squares(parameters.additive_length)),
      scale_(std::exp(parameters.scale)) {
    const std::size_t n = inputs_.count, dimensions = inputs_.dimensions();
    const bool additive = !additive_relevance_.empty();
    additive_ = additive ? std::exp(parameters.additive) / static_cast<double>(dimensions) : 0;
    for (std::size_t d = 0; d < dimensions; ++d)
        for (std::size_t i = 0; i < n; ++i) warped_[d * n + i] = warp_of(d, inputs_.at(i, d)).value;
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
        coordinate_squares(inputs_, warped_, d, warp_of(d, x[d]).value, count, scratch.squares.data());
        for (std::size_t j = 0; j < count; ++j) scratch.sums[j] += relevance_[d] * scratch.squares[j];
        if (additive_relevance_.empty()) continue;
        for (std::size_t j = 0; j < count; ++j)
            scratch.covariance[j] += additive_ * matern(additive_relevance_[d] * scratch.squares[j]);
    }
    for (std::size_t j = 0; j < count; ++j) scratch.covariance[j] += scale_ * matern(scratch.sums[j]);
}

Warp GaussianProcess::warp_of(std::size_t coordinate, double x) const {
    const std::size_t warped = warps_.size() / 2;
    if (coordinate >= warped || inputs_.categorical[coordinate]) return {x, 1, 0, 0};
    return warp(x, warps_[coordinate], warps_[warped + coordinate]);
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
        const double* column = &warped_[d * n];
        const Warp at = warp_of(d, x[d]);
        double by_mean = 0, by_variance = 0;
        for (std::size_t j = 0; j < n; ++j) {
            const double difference = at.value - column[j];
            double slope = joint_slope[j] * relevance_[d];
            if (!additive_relevance_.empty())
                slope +=
                    additive_ * additive_relevance_[d] * matern_slope(additive_relevance_[d] * difference * difference);
            const double change = 2 * slope * difference * at.by_x;
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
