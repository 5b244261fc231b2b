#include "orchestrator/sampling/expectation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "orchestrator/sampling/dense.hpp"
#include "orchestrator/sampling/gp_model.hpp"

namespace hpo {

namespace {

constexpr std::size_t most_expected_of = 200;
constexpr int expectation_iterations = 25;
constexpr double quarter = 0.25;
// A score and a target have variance 1, so that a slope is a correlation if this study's trials lie as the other's.
constexpr double agreement = 0.7, agreement_variance = 0.25;  // of the slope, by its prior
constexpr double unexplained = 0.5;                           // variance of targets around the slope

}  // namespace

Expectation::Expectation(SearchSpace space, const std::vector<PriorSite>& trials)
    : space_(std::move(space)), trials_(trials.size()) {
    std::vector<Observation> observations;
    for (const PriorSite& trial : trials) {
        Observation observation;
        observation.trial = static_cast<std::int64_t>(observations.size()) + 1;
        observation.site = trial.site;
        observation.loss = trial.score;
        observations.push_back(std::move(observation));
    }
    const Data data = data_of(space_, observations, select(observations, most_expected_of));
    const Targets targets = rescale(data.losses, {}, Scale::plain);
    // Inverts `rescale`: target = (score - centre) / unit.
    const auto [least, most] = std::minmax_element(data.losses.begin(), data.losses.end());
    const auto low = static_cast<std::size_t>(least - data.losses.begin());
    const auto high = static_cast<std::size_t>(most - data.losses.begin());
    const double apart = targets.values[high] - targets.values[low];
    unit_ = apart > 0 ? (*most - *least) / apart : 1;
    centre_ = *least - unit_ * targets.values[low];
    const Hyperparameters start = prior_hyperparameters(data.inputs, Kernel::joint);
    const Hyperparameters found = fit(data.inputs, targets.values, start, expectation_iterations).parameters;
    process_ = std::make_unique<const GaussianProcess>(data.inputs, targets.values, found);
}

double Expectation::at(const Point& point) const { return at_input(space_.input(point)); }

double Expectation::at_input(std::span<const double> input) const {
    return quarter * (centre_ + unit_ * process_->mean(input));
}

double Expectation::at_input(std::span<const double> input, std::span<double> gradient) const {
    std::vector<double> by_deviation(input.size());
    const double mean = process_->predict(input, gradient, by_deviation).mean;
    for (double& slope : gradient) slope *= quarter * unit_;
    return quarter * (centre_ + unit_ * mean);
}

std::vector<double> slopes_along_expected(const Inputs& inputs, const SearchSpace& space,
                                          std::span<const double> targets) {
    if (space.expected.empty()) return {};
    const std::size_t studies = space.expected.size(), first = space.categorical.size(), n = inputs.count;
    std::vector<double> scores(studies * n);  // less their mean
    for (std::size_t s = 0; s < studies; ++s) {
        double mean = 0;
        for (std::size_t i = 0; i < n; ++i) mean += inputs.at(i, first + s) / static_cast<double>(n);
        for (std::size_t i = 0; i < n; ++i) scores[s * n + i] = (inputs.at(i, first + s) - mean) / quarter;
    }
    const auto product = [&](const double* a, const double* b) { return std::inner_product(a, a + n, b, 0.0); };
    std::vector<double> precision(studies * studies), pull(studies), slopes(studies);
    for (std::size_t s = 0; s < studies; ++s) {
        for (std::size_t t = 0; t < studies; ++t)
            precision[s * studies + t] = product(&scores[s * n], &scores[t * n]) / unexplained;
        precision[s * studies + s] += 1 / agreement_variance;
        pull[s] = agreement / static_cast<double>(studies) / agreement_variance +
                  product(&scores[s * n], targets.data()) / unexplained;
    }
    if (!cholesky(precision, studies)) return {};
    const std::vector<double> inverse = inverse_of_lower(precision, studies);
    multiply_lower_transposed(inverse, solve_lower(precision, pull), slopes);
    std::vector<double> all(inputs.dimensions(), 0.0);
    for (std::size_t s = 0; s < studies; ++s) all[first + s] = slopes[s] / quarter;
    return all;
}

}  // namespace hpo
