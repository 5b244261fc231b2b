#include "orchestrator/sampling/posterior_ranking.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

#include "hpo/random.hpp"
#include "hpo/standing.hpp"
#include "hpo/text.hpp"
#include "orchestrator/sampling/dense.hpp"
#include "orchestrator/sampling/gp_model.hpp"
#include "orchestrator/sampling/study_cube.hpp"

namespace hpo {

namespace {

constexpr std::size_t fewest_modelled = 60, most_modelled_here = 200;  // trainings
constexpr std::size_t most_compared = 64;    // configurations that have a chance of being the best
constexpr std::uint64_t joint_draws = 2000;  // of the joint posterior
constexpr double smallest_jitter = 1e-10;    // of a covariance whose targets have variance 1

/// Returns the number of trainings in a model that is fitted within a second.
std::size_t most_trainings_in(std::size_t dimensions) {
    const double affordable = std::sqrt(2e5 / static_cast<double>(std::max<std::size_t>(dimensions, 1)));
    return std::clamp(static_cast<std::size_t>(affordable), fewest_modelled, most_modelled_here);
}

/// Returns deviate `element` of a draw, of the stream that samplers would have for a trial 0.
double deviate(std::uint64_t seed, std::uint64_t draw, std::uint64_t element) {
    const auto uniform = [&](std::uint64_t i) {
        return draw_unit(seed, Purpose::sampler, 0, 2 * (draw * most_compared + element) + i);
    };
    return std::sqrt(-2 * std::log(1 - uniform(0))) * std::cos(2 * std::numbers::pi * uniform(1));
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

/// Moves losses far above the better quarter nearer: some configurations diverge to losses that are larger by
/// magnitudes, and a model that had to explain them could not tell the good ones apart.
void cap(std::vector<Observation>& trainings) {
    std::vector<double> losses;
    for (const Observation& training : trainings) losses.push_back(*training.loss);
    std::sort(losses.begin(), losses.end());
    std::size_t usual = losses.size() / 4;
    while (usual + 1 < losses.size() && !(losses[usual] > losses.front())) ++usual;  // equal results
    const double most = losses[usual] + 6 * (losses[usual] - losses.front());
    for (Observation& training : trainings) training.loss = std::min(*training.loss, most);
}

/// A fitted process with the scale of its errors.
struct Calibrated {
    GaussianProcess process;
    double noise = 0;     ///< standard deviation, in units of the targets
    double widening = 1;  ///< factor of all deviations
};

/// Returns the process of highest posterior density, or a noisier one that is hardly less likely. Short length scales
/// and noise explain single trainings equally well, and most fits end at short scales, so some fits are held at a least
/// noise.
Calibrated best_process(const SearchSpace& space, const Data& data) {
    constexpr int iterations = 40;
    constexpr std::array noises{0.0, 0.03, 0.1, 0.25, 0.5};  // least variances, of targets of variance 1
    constexpr double hardly = 3;                             // in the logarithm of the density
    const Targets targets = rescale(data.losses, data.variances, Scale::plain);
    Inputs inputs = data.inputs;
    inputs.variances = targets.variances;
    std::vector<Fit> fits;
    double least_cost = INFINITY;
    for (const Kernel kernel : {Kernel::joint, Kernel::additive})
        for (const double noise : noises) {
            Hyperparameters start = prior_hyperparameters(inputs, kernel);
            const double least = noise > 0 ? std::log(noise) : -30;
            start.noise = std::max(start.noise, least);
            fits.push_back(fit(inputs, targets.values, start, iterations, least));
            least_cost = std::min(least_cost, fits.back().cost);
        }
    std::erase_if(fits, [&](const Fit& one) { return one.cost > least_cost + hardly; });
    const Fit& best = *std::max_element(
        fits.begin(), fits.end(), [](const Fit& a, const Fit& b) { return a.parameters.noise < b.parameters.noise; });
    Calibrated model{process_of(space, data, {Scale::plain, best.parameters}, {}), std::exp(best.parameters.noise / 2)};
    const auto predictions = model.process.leave_one_out();
    double squares = 0;
    for (std::size_t i = 0; i < predictions.size(); ++i)
        squares += std::pow((model.process.targets()[i] - predictions[i].mean) / predictions[i].deviation, 2);
    model.widening = std::max(1.0, std::sqrt(squares / static_cast<double>(predictions.size())));
    return model;
}

/// Returns for each input the probability that its value is the least, by draws from the joint posterior.
std::vector<double> chances(const Calibrated& model, const std::vector<std::size_t>& inputs,
                            const std::vector<double>& means, std::uint64_t seed) {
    const std::size_t n = inputs.size();
    std::vector<double> covariance = model.process.covariance(inputs);
    for (double& one : covariance) one *= model.widening * model.widening;
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

/// The scale from the process's targets, of mean 0 and variance 1, to the objective.
struct Units {
    double mean = 0, deviation = 1;
};

/// Returns nothing if the losses are too large to be squared.
std::optional<Units> units_of(const std::vector<double>& losses) {
    const auto n = static_cast<double>(losses.size());
    Units units{std::accumulate(losses.begin(), losses.end(), 0.0) / n};
    double squares = 0;
    for (const double loss : losses) squares += (loss - units.mean) * (loss - units.mean);
    if (!std::isfinite(squares)) return std::nullopt;
    if (squares > 0) units.deviation = std::sqrt(squares / n);
    return units;
}

/// An input of the process whose trial may be the best, with its prediction.
struct Candidate {
    std::size_t input = 0;
    double mean = 0, deviation = 0, chance = 0;
    [[nodiscard]] double cautious() const { return mean + deviation; }
};

/// Returns the candidates among the inputs, the best first, with the chances of the first `most_compared`.
std::vector<Candidate> candidates_in(const Calibrated& model, const std::function<bool(std::size_t input)>& eligible,
                                     std::uint64_t seed) {
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < model.process.inputs().count; ++i) {
        if (!eligible(i)) continue;
        const auto at = model.process.predict(model.process.inputs().row(i));
        candidates.push_back({i, at.mean, at.deviation * model.widening});
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.cautious() < b.cautious(); });
    std::vector<std::size_t> compared;
    std::vector<double> means;
    for (std::size_t i = 0; i < std::min(candidates.size(), most_compared); ++i) {
        compared.push_back(candidates[i].input);
        means.push_back(candidates[i].mean);
    }
    if (compared.empty()) return candidates;
    const std::vector<double> chance = chances(model, compared, means, seed);
    for (std::size_t i = 0; i < chance.size(); ++i) candidates[i].chance = chance[i];
    return candidates;
}

}  // namespace

Result<PosteriorRanking> posterior_ranking(const Study& study, const StudyRecord& record) {
    const auto empty = [](std::string why) {
        PosteriorRanking ranking;
        ranking.why_empty = std::move(why);
        return ranking;
    };
    if (!study.objective.further.empty()) return empty("has several objectives");
    const auto cube = cube_of(study);
    if (!cube) return cube.error();
    std::vector<Observation> trainings = trainings_of(study, record, **cube);
    if (trainings.size() < fewest_ranked)
        return empty("has " + counted(static_cast<std::int64_t>(trainings.size()), "trial") + " with a value of " +
                     study.objective.metric + ", and a model needs " + std::to_string(fewest_ranked));
    cap(trainings);
    const SearchSpace space = search_space(setup_in(*cube, study));
    const std::vector<std::size_t> kept = select(trainings, most_trainings_in(space.categorical.size()));
    const Data data = data_of(space, trainings, kept);
    const auto units = units_of(data.losses);
    if (!units) return empty("has values of " + study.objective.metric + " too large for a model");

    const Calibrated model = best_process(space, data);
    const auto trial_of = [&](std::size_t input) { return trainings[kept[input]].trial; };
    const auto candidates = candidates_in(
        model, [&](std::size_t input) { return may_be_best(record.trial(trial_of(input)), study.objective); },
        study.seed);
    if (candidates.empty()) return empty("has no trial that may be the best");
    PosteriorRanking ranking;
    ranking.noise = units->deviation * model.noise * model.widening;
    const double sign = study.objective.direction == Direction::minimize ? 1 : -1;
    for (const Candidate& candidate : candidates)
        ranking.configurations.push_back({trial_of(candidate.input),
                                          sign * (units->mean + units->deviation * candidate.mean),
                                          units->deviation * candidate.deviation, candidate.chance});
    return ranking;
}

}  // namespace hpo
