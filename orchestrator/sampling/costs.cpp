#include "orchestrator/sampling/costs.hpp"

#include <array>
#include <cmath>

#include "hpo/solve.hpp"

namespace hpo {

namespace {

constexpr std::size_t fewest_measured = 3, most_measured = 150;
// Variances of the weights, of log seconds: a parameter may change the time some twenty times from end to end.
constexpr double variance_linear = 2.25, variance_square = 0.5, variance_logarithm = 2.25, variance_category = 0.5;
constexpr std::array noises{0.05, 0.2, 0.6};  // standard deviations of log seconds, of which the likeliest counts

struct Measured {
    std::vector<std::vector<double>> inputs;
    std::vector<double> times;  ///< the logarithms of the seconds, less their mean
};

/// Gathers the newest trials whose seconds are measured.
Measured measured_of(const SearchSpace& space, std::span<const Observation> trials) {
    Measured measured;
    std::vector<double>& times = measured.times;
    for (std::size_t i = trials.size(); i-- > 0 && times.size() < most_measured;)
        if (trials[i].seconds && *trials[i].seconds > 0) {
            measured.inputs.push_back(space.input(trials[i].site.point));
            times.push_back(std::log(*trials[i].seconds));
        }
    double mean = 0;
    for (const double time : times) mean += time / static_cast<double>(times.size());
    for (double& time : times) time -= mean;
    return measured;
}

/// Solves (kernel + noise^2) x = times with the noise of the largest likelihood. `kernel` holds the lower triangle by
/// rows. Returns nothing if no likelihood is finite.
std::vector<double> likeliest_solution(const std::vector<double>& kernel, const std::vector<double>& times) {
    const std::size_t n = times.size();
    double least = INFINITY;
    std::vector<double> likeliest;
    for (const double noise : noises) {
        std::vector<double> factor = kernel;
        for (std::size_t i = 0; i < n; ++i) factor[i * n + i] += noise * noise;
        factorize(factor, n, 1e-12);
        std::vector<double> solution = substitute(factor, times);
        double cost = 0;
        for (std::size_t i = 0; i < n; ++i) cost += std::log(factor[i * n + i]) + times[i] * solution[i] / 2;
        if (cost < least) least = cost, likeliest = std::move(solution);
    }
    return likeliest;
}

}  // namespace

double Costs::Feature::value(std::span<const double> input) const {
    const double x = input[dimension];
    switch (kind) {
        case Kind::category:
            return x == parameter ? 1 : 0;
        case Kind::linear:
            return x - 0.5;
        case Kind::square:
            return (x - 0.5) * (x - 0.5);
        case Kind::logarithm:
            return std::log((x + parameter) / (0.5 + parameter)) / std::log1p(1 / parameter);
    }
    return 0;
}

double Costs::Feature::slope(std::span<const double> input) const {
    const double x = input[dimension];
    switch (kind) {
        case Kind::category:
            return 0;
        case Kind::linear:
            return 1;
        case Kind::square:
            return 2 * (x - 0.5);
        case Kind::logarithm:
            return 1 / ((x + parameter) * std::log1p(1 / parameter));
    }
    return 0;
}

std::vector<Costs::Feature> Costs::features_of(const SamplerSetup& setup, const SearchSpace& space) {
    std::vector<Feature> features;
    for (std::size_t d = 0; d < setup.space.size(); ++d) {
        const Dimension& dimension = setup.space[d];
        if (space.categorical[d]) {
            for (std::size_t c = 0; c < dimension.choices.size(); ++c)
                features.push_back({Feature::Kind::category, d, static_cast<double>(c), variance_category});
            continue;
        }
        features.push_back({Feature::Kind::linear, d, 0, variance_linear});
        features.push_back({Feature::Kind::square, d, 0, variance_square});
        if (dimension.low > 0 && dimension.high > dimension.low && !dimension.log)
            features.push_back(
                {Feature::Kind::logarithm, d, dimension.low / (dimension.high - dimension.low), variance_logarithm});
    }
    return features;
}

Costs::Costs(const SamplerSetup& setup, const SearchSpace& space, std::span<const Observation> trials) {
    const Measured measured = measured_of(space, trials);
    const std::size_t n = measured.times.size();
    if (n < fewest_measured) return;
    features_ = features_of(setup, space);
    const std::size_t p = features_.size();
    std::vector<double> values(n * p), kernel(n * n);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t f = 0; f < p; ++f) values[i * p + f] = features_[f].value(measured.inputs[i]);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = 1;  // of the constant's prior
            for (std::size_t f = 0; f < p; ++f) sum += features_[f].variance * values[i * p + f] * values[j * p + f];
            kernel[i * n + j] = sum;
        }
    const std::vector<double> solution = likeliest_solution(kernel, measured.times);
    if (solution.empty()) return;  // no likelihood is finite
    weights_.assign(p, 0.0);
    for (std::size_t f = 0; f < p; ++f)
        for (std::size_t i = 0; i < n; ++i) weights_[f] += features_[f].variance * values[i * p + f] * solution[i];
}

double Costs::log_seconds(std::span<const double> input, double factor, std::span<double> slope) const {
    double sum = 0;
    for (std::size_t f = 0; f < weights_.size(); ++f) {
        sum += weights_[f] * features_[f].value(input);
        if (!slope.empty()) slope[features_[f].dimension] += factor * weights_[f] * features_[f].slope(input);
    }
    return sum;
}

std::vector<double> PerSecond::values(const std::vector<std::vector<double>>& inputs) const {
    std::vector<double> all = inner_.values(inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) all[i] -= power_ * costs_.log_seconds(inputs[i]);
    return all;
}

double PerSecond::value(std::span<const double> input, std::span<double> gradient) const {
    const double inner = inner_.value(input, gradient);
    return inner - power_ * costs_.log_seconds(input, -power_, gradient);
}

}  // namespace hpo
