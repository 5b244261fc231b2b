#include "orchestrator/sampling/expectation.hpp"

#include <algorithm>
#include <cmath>

#include "orchestrator/sampling/gp_model.hpp"

namespace hpo {

namespace {

constexpr std::size_t most_expected_of = 200;
constexpr int expectation_iterations = 25;
constexpr double quarter = 0.25;

}  // namespace

Expectation::Expectation(SearchSpace space, const std::vector<PriorSite>& trials) : space_(std::move(space)) {
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
    const Hyperparameters start = prior_hyperparameters(data.inputs.categorical, false);
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

}  // namespace hpo
