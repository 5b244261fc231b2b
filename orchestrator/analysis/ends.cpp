#include "orchestrator/analysis/ends.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "hpo/random.hpp"
#include "orchestrator/stopping/curve_model.hpp"

namespace hpo::analysis {

namespace {

constexpr std::size_t enough_to_calibrate = 8;
constexpr double least_told = 0.4;  ///< minimum correlation of predicted and real ends to use a prediction
constexpr int draws = 4000;

/// Returns the nodes of the curve model: steps spaced by a factor of three, ending at the last step.
std::vector<std::int64_t> nodes_of(std::int64_t steps) {
    std::vector<std::int64_t> nodes{steps};
    for (double at = static_cast<double>(steps) / 3; std::lround(at) >= 1; at /= 3) {
        const auto step = static_cast<std::int64_t>(std::lround(at));
        if (step < nodes.front()) nodes.insert(nodes.begin(), step);
    }
    if (nodes.front() > 1) nodes.insert(nodes.begin(), 1);
    return nodes;
}

/// Returns a trial's values at the nodes that it has passed. If a trial reports only every few steps, the first report
/// at or after a node counts for it.
CurvePath path_of(const TrialRecord& trial, const Objective& objective, const std::vector<std::int64_t>& nodes) {
    CurvePath path;
    std::optional<double> value;
    for (const Report& report : trial.curve) {
        const auto found = report.metrics.find(objective.metric);
        if (found != report.metrics.end() && std::isfinite(found->second)) {
            const double loss = objective.direction == Direction::minimize ? found->second : -found->second;
            value = value && objective.at == Objective::At::best ? std::min(*value, loss) : loss;
        }
        while (value && path.size() + 1 < nodes.size() && nodes[path.size()] <= report.step) path.push_back(*value);
    }
    return path;
}

}  // namespace

Ends ends_of(const Study& study, const StudyRecord& record) {
    const Objective& objective = study.objective;
    const std::vector<std::int64_t> nodes = nodes_of(study.budget.epochs);
    std::vector<CurvePath> paths;
    std::vector<std::size_t> full;
    for (std::size_t i = 0; i < record.trials.size(); ++i) {
        const TrialRecord& trial = record.trials[i];
        paths.push_back(path_of(trial, objective, nodes));
        const bool lost = trial.state == TrialState::diverged || trial.state == TrialState::failed;
        if (lost) paths[i].resize(nodes.size(), INFINITY);
        if (trial.state != TrialState::complete || !trial.value) continue;
        paths[i].resize(nodes.size(), objective.direction == Direction::minimize ? *trial.value : -*trial.value);
        full.push_back(i);
    }
    const auto fitted = [&](std::size_t shortened, std::size_t length) {
        CurvePath part;
        std::vector<const CurvePath*> all;
        for (std::size_t i = 0; i < paths.size(); ++i)
            if (i != shortened && !paths[i].empty()) all.push_back(&paths[i]);
        if (shortened < paths.size()) {
            part.assign(paths[shortened].begin(), paths[shortened].begin() + static_cast<std::ptrdiff_t>(length));
            all.push_back(&part);
        }
        CurveModel model(nodes.size());
        model.fit(all);
        return model;
    };
    const CurveModel model = fitted(paths.size(), 0);

    // Calibrate each node's deviations by leave-one-out: predict the end of each trial that was trained to its end as
    // if it had been stopped there.
    std::vector<double> scaled(nodes.size(), 1.0);
    Ends ends;
    ends.calibrated = full.size() >= enough_to_calibrate;
    if (ends.calibrated && full.size() <= 200)
        for (std::size_t node = 0; node + 1 < nodes.size(); ++node) {
            double squares = 0;
            for (const std::size_t i : full) {
                const CurvePath part(paths[i].begin(), paths[i].begin() + static_cast<std::ptrdiff_t>(node) + 1);
                const CurveModel::End end = fitted(i, node + 1).end(part);
                const double z = (paths[i].back() - end.value) / std::max(end.deviation, 1e-12);
                squares += z * z;
            }
            // The added 1 in both terms is a prior observation with a standardized error of 1.
            scaled[node] = std::sqrt((squares + 1) / static_cast<double>(full.size() + 1));
        }

    for (std::size_t i = 0; i < record.trials.size(); ++i) {
        const TrialRecord& trial = record.trials[i];
        ends.of.emplace_back();
        if (!is_final(trial.state) || paths[i].empty()) continue;
        if (trial.state != TrialState::stopped) {
            ++ends.trained;
            ends.of.back() = End{model.bounded_end(paths[i].back()), 0, false, ""};
            continue;
        }
        const std::size_t node = paths[i].size() - 1;
        if (model.tells(node) < least_told) {
            ++ends.left_out;
            continue;
        }
        ++ends.predicted;
        const CurveModel::End end = model.end(paths[i]);
        ends.of.back() = End{model.bounded_end(end.value), end.deviation * scaled[node], true, trial.rule};
    }
    return ends;
}

std::map<std::string, Cost> costs_of_stopping(const Ends& ends, std::uint64_t seed) {
    std::map<std::string, Cost> costs;
    if (!ends.calibrated || ends.left_out > 0) return costs;
    double best = INFINITY;
    std::map<std::string, std::vector<const End*>> stopped;
    for (const auto& end : ends.of) {
        if (!end) continue;
        if (end->predicted)
            stopped[end->rule].push_back(&*end);
        else
            best = std::min(best, end->loss);
    }
    std::uint64_t trial = 0;
    for (const auto& [rule, trials] : stopped) {
        if (rule == "user") continue;
        Cost& cost = costs[rule];
        for (int draw = 0; draw < draws; ++draw) {
            double least = best;
            ++trial;
            for (std::size_t i = 0; i < trials.size(); ++i) {
                const double u = draw_unit(seed, Purpose::shuffle, trial, 2 * i);
                const double v = draw_unit(seed, Purpose::shuffle, trial, 2 * i + 1);
                const double z = std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
                least = std::min(least, trials[i]->loss + z * trials[i]->deviation);
            }
            cost.chance += least < best ? 1.0 / draws : 0;
            cost.regret += (best - least) / draws;
        }
    }
    return costs;
}

}  // namespace hpo::analysis
