#include "orchestrator/sampling/posterior_ranking.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "hpo/random.hpp"
#include "hpo/standing.hpp"
#include "orchestrator/sampling/dense.hpp"
#include "orchestrator/sampling/gp_model.hpp"
#include "orchestrator/sampling/policy.hpp"
#include "orchestrator/sampling/registry.hpp"

namespace hpo {

namespace {

constexpr std::size_t most_trainings = 200;  // trainings
constexpr std::size_t most_compared = 64;    // configurations that have a chance of being the best
constexpr std::uint64_t joint_draws = 2000;  // of the joint posterior
constexpr double smallest_jitter = 1e-10;    // of a covariance whose targets have variance 1

/// Returns deviate `element` of a draw, of the stream that samplers would have for a trial 0.
double deviate(std::uint64_t seed, std::uint64_t draw, std::uint64_t element) {
    const auto uniform = [&](std::uint64_t i) {
        return draw_unit(seed, Purpose::sampler, 0, 2 * (draw * most_compared + element) + i);
    };
    return std::sqrt(-2 * std::log(1 - uniform(0))) * std::cos(2 * std::numbers::pi * uniform(1));
}

SearchSpace input_space(const Study& study, const CubeMap& map) {
    SamplerSetup setup;
    setup.space = study.space;
    setup.active = [&map](const Point& point) { return map.active(point); };
    setup.values = [&map](std::size_t dimension) { return map.values(dimension); };
    return search_space(setup);
}

std::vector<Observation> trainings_of(const Study& study, const StudyRecord& record, const CubeMap& map) {
    std::vector<Observation> trainings;
    for (const TrialRecord& trial : record.trials) {
        const auto value = own_value(trial);
        if (!value || !std::isfinite(*value) || trial.state == TrialState::failed ||
            trial.state == TrialState::diverged)
            continue;
        const auto point = map.point(trial.params);
        if (!point) continue;  // a range has been narrowed since
        Observation training;
        training.trial = trial.number;
        training.site = {*point, map.active(trial.params)};
        training.loss = study.objective.direction == Direction::minimize ? *value : -*value;
        training.steps = trial.steps();
        trainings.push_back(std::move(training));
    }
    return trainings;
}

/// Returns the hyperparameters of highest posterior density. A fit from the prior's small noise often ends where short
/// waves explain the noise, so that others begin with much of it.
Hyperparameters likeliest(const Data& data) {
    constexpr int iterations = 60;
    constexpr std::array noises{-9.0, -1.5};  // natural logarithms of variances
    const Targets targets = rescale(data.losses, data.variances, Scale::plain);
    Inputs inputs = data.inputs;
    inputs.variances = targets.variances;
    Fit best{{}, INFINITY};
    for (const bool additive : {false, true})
        for (const double noise : noises) {
            Hyperparameters start = prior_hyperparameters(inputs.categorical, additive);
            start.noise = noise;
            if (Fit found = fit(inputs, targets.values, start, iterations); found.cost < best.cost)
                best = std::move(found);
        }
    return best.parameters;
}

/// Returns the probability of each input's being the least, by draws from the joint posterior.
std::vector<double> chances(const GaussianProcess& process, const std::vector<std::size_t>& inputs,
                            const std::vector<double>& means, std::uint64_t seed) {
    const std::size_t n = inputs.size();
    const std::vector<double> covariance = process.covariance(inputs);
    std::vector<double> factor;
    for (double jitter = smallest_jitter;; jitter *= 10) {
        factor = covariance;
        for (std::size_t i = 0; i < n; ++i) factor[i * n + i] += jitter;
        if (cholesky(factor, n)) break;
    }
    std::vector<double> counts(n, 0.0), deviates(n), drawn(n);
    for (std::uint64_t draw = 0; draw < joint_draws; ++draw) {
        for (std::size_t i = 0; i < n; ++i) deviates[i] = deviate(seed, draw, i);
        multiply_lower(factor, deviates, drawn);
        for (std::size_t i = 0; i < n; ++i) drawn[i] += means[i];
        ++counts[static_cast<std::size_t>(std::min_element(drawn.begin(), drawn.end()) - drawn.begin())];
    }
    for (double& count : counts) count /= static_cast<double>(joint_draws);
    return counts;
}

}  // namespace

Result<PosteriorRanking> posterior_ranking(const Study& study, const StudyRecord& record) {
    PosteriorRanking ranking;
    if (!study.objective.further.empty()) return ranking;
    Policy policy = study.policy;
    if (samples_as_declared(study.sampler)) policy.scaled = false;
    const auto map = CubeMap::make(study.space, policy, study.fixed, study.where);
    if (!map) return map.error();
    const std::vector<Observation> trainings = trainings_of(study, record, *map);
    if (trainings.size() < fewest_ranked) return ranking;
    const SearchSpace space = input_space(study, *map);
    const std::vector<std::size_t> kept = select(trainings, most_trainings);
    const Data data = data_of(space, trainings, kept);
    const Model model{Scale::plain, likeliest(data)};
    const GaussianProcess process = process_of(space, data, model, {});

    const auto n = static_cast<double>(data.losses.size());
    const double mean = std::accumulate(data.losses.begin(), data.losses.end(), 0.0) / n;
    double squares = 0;
    for (const double loss : data.losses) squares += (loss - mean) * (loss - mean);
    const double unit = squares > 0 ? std::sqrt(squares / n) : 1;
    ranking.noise = unit * std::exp(model.parameters.noise / 2);

    struct Candidate {
        std::size_t input = 0;
        GaussianProcess::Prediction at;
        [[nodiscard]] double cautious() const { return at.mean + at.deviation; }
    };
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < kept.size(); ++i)
        if (may_be_best(record.trial(trainings[kept[i]].trial), study.objective))
            candidates.push_back({i, process.predict(process.inputs().row(i))});
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.cautious() < b.cautious(); });
    std::vector<std::size_t> compared;
    std::vector<double> means;
    for (const Candidate& candidate : candidates) {
        if (compared.size() == most_compared) break;
        compared.push_back(candidate.input);
        means.push_back(candidate.at.mean);
    }
    const std::vector<double> chance = chances(process, compared, means, study.seed);
    const double sign = study.objective.direction == Direction::minimize ? 1 : -1;
    for (std::size_t i = 0; i < candidates.size(); ++i)
        ranking.configurations.push_back({trainings[kept[candidates[i].input]].trial,
                                          sign * (mean + unit * candidates[i].at.mean),
                                          unit * candidates[i].at.deviation, i < chance.size() ? chance[i] : 0});
    return ranking;
}

}  // namespace hpo
