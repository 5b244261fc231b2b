#include "orchestrator/analysis/ends.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orchestrator/stopping/curve_model.hpp"

namespace hpo::analysis {

namespace {

constexpr std::int64_t enough_trained = 8;  ///< trials, for a statement about the order of their ends
constexpr double least_told = 0.4;          ///< minimum correlation of predicted and real ends to use a prediction

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
    for (std::size_t i = 0; i < record.trials.size(); ++i) {
        const TrialRecord& trial = record.trials[i];
        paths.push_back(path_of(trial, objective, nodes));
        const bool lost = trial.state == TrialState::diverged || trial.state == TrialState::failed;
        if (lost) paths[i].resize(nodes.size(), INFINITY);
        if (trial.state != TrialState::complete || !trial.value) continue;
        paths[i].resize(nodes.size(), objective.direction == Direction::minimize ? *trial.value : -*trial.value);
    }
    std::vector<const CurvePath*> all;
    for (const CurvePath& path : paths)
        if (!path.empty()) all.push_back(&path);
    CurveModel model(nodes.size());
    model.fit(all);

    Ends ends;
    for (std::size_t i = 0; i < record.trials.size(); ++i) {
        const TrialRecord& trial = record.trials[i];
        ends.of.emplace_back();
        if (!is_final(trial.state) || paths[i].empty()) continue;
        if (trial.state != TrialState::stopped) {
            ++ends.trained;
            ends.of.back() = End{model.bounded_end(paths[i].back()), false, ""};
            continue;
        }
        const std::size_t node = paths[i].size() - 1;
        if (model.tells(node) < least_told) {
            ++ends.left_out;
            continue;
        }
        ++ends.predicted;
        ends.of.back() = End{model.bounded_end(model.end(paths[i]).value), true, trial.rule};
    }
    return ends;
}

std::map<std::string, Agreement> agreement_of_ranks(const Study& study, const StudyRecord& record) {
    std::map<std::string, Agreement> rules;
    std::vector<const TrialRecord*> trained;
    for (const TrialRecord& trial : record.trials) {
        if (trial.state == TrialState::complete && trial.value) trained.push_back(&trial);
        if (trial.state != TrialState::stopped || trial.rule == "user" || trial.steps() == 0) continue;
        Agreement& rule = rules[trial.rule];
        rule.step = rule.step > 0 ? std::min(rule.step, trial.steps()) : trial.steps();
    }
    for (auto& [name, rule] : rules) {
        std::vector<std::pair<double, double>> early_and_end;
        for (const TrialRecord* trial : trained) {
            const CurvePath path =
                path_of(*trial, study.objective, {rule.step, std::numeric_limits<std::int64_t>::max()});
            const double end = study.objective.direction == Direction::minimize ? *trial->value : -*trial->value;
            if (!path.empty()) early_and_end.emplace_back(path.front(), end);
        }
        double pairs = 0, agree = 0;
        for (std::size_t i = 0; i < early_and_end.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) {
                const auto [a, x] = early_and_end[i];
                const auto [b, y] = early_and_end[j];
                if (x == y) continue;
                ++pairs;
                agree += a == b ? 0.5 : (a < b) == (x < y) ? 1 : 0;
            }
        rule.trials = pairs > 0 ? static_cast<std::int64_t>(early_and_end.size()) : 0;
        rule.share = pairs > 0 ? agree / pairs : 0;
    }
    std::erase_if(rules, [](const auto& rule) { return rule.second.trials < enough_trained; });
    return rules;
}

}  // namespace hpo::analysis
