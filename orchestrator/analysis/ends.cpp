#include "orchestrator/analysis/ends.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "hpo/random.hpp"
#include "hpo/step_name.hpp"
#include "hpo/text.hpp"
#include "orchestrator/stopping/curve_model.hpp"
#include "orchestrator/stopping/metric.hpp"

namespace hpo::analysis {

namespace {

constexpr std::int64_t enough_trained = 8;      ///< trials, for a statement about the order of their ends
constexpr std::int64_t enough_to_estimate = 5;  ///< trials trained to their end, for an estimate of the cost
constexpr std::int64_t enough_to_predict = 4;   ///< trials trained to their end, for a prediction of others' ends

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

/// The trials of a study that are analysed, their curves, and a model of these.
struct Curves {
    std::vector<std::int64_t> trials;
    std::vector<CurvePath> paths;  ///< in the same order
    CurveModel model;
};
Curves curves_of(const Study& study, const StudyRecord& record, std::size_t most,
                 const std::function<double()>& draw_normal = {}) {
    const Objective& objective = study.objective;
    const std::vector<std::int64_t> nodes = nodes_of(study.budget.epochs);
    Curves curves{analysed_trials(study, record, most),
                  {},
                  CurveModel(nodes.size(), possible_values(objective.metric, objective.direction))};
    for (const std::int64_t number : curves.trials) {
        const TrialRecord& trial = record.trial(number);
        CurvePath& path = curves.paths.emplace_back(path_of(trial, objective, nodes));
        const bool lost = trial.state == TrialState::diverged || trial.state == TrialState::failed;
        if (lost) path.resize(nodes.size(), INFINITY);
        if (trial.state != TrialState::complete || !trial.value) continue;
        path.resize(nodes.size(), objective.direction == Direction::minimize ? *trial.value : -*trial.value);
    }
    std::vector<const CurvePath*> all;
    for (const CurvePath& path : curves.paths)
        if (!path.empty()) all.push_back(&path);
    curves.model.fit(all, draw_normal);
    return curves;
}

/// Returns the last step that at least nine tenths of these trials have reached; 0 if none has reported. At a later
/// step, parameters that decide which trials get there would seem not to matter, as the trials there are alike in them.
std::int64_t common_step(std::vector<std::int64_t> steps) {
    if (steps.empty()) return 0;
    const auto tenth = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 10);
    std::nth_element(steps.begin(), tenth, steps.end());
    return *tenth;
}

/// Puts the trials' values at a step that nearly all have reached in the place of their ends, if some were stopped.
void compare_early(const Study& study, const StudyRecord& record, const std::vector<std::int64_t>& trials, Ends& ends) {
    std::vector<std::int64_t> steps;
    bool stopped = false;
    for (const std::int64_t number : trials) {
        const TrialRecord& trial = record.trial(number);
        if (trial.state != TrialState::stopped && trial.state != TrialState::complete) continue;
        stopped = stopped || trial.state == TrialState::stopped;
        if (trial.value) steps.push_back(trial.steps());
    }
    ends.at_step = stopped ? common_step(std::move(steps)) : 0;
    if (ends.at_step == 0) return;
    ends.left_out = 0;
    for (const std::int64_t number : trials) {
        const TrialRecord& trial = record.trial(number);
        if (trial.state != TrialState::stopped && trial.state != TrialState::complete) continue;
        std::optional<End>& own = ends.of[static_cast<std::size_t>(number) - 1];
        own.reset();
        const CurvePath path =
            path_of(trial, study.objective, {ends.at_step, std::numeric_limits<std::int64_t>::max()});
        if (path.empty() || !trial.value) {
            ++ends.left_out;
        } else {
            own = End{.loss = path.front(), .rule = trial.rule};
            ++ends.reached;
        }
    }
}

std::int64_t ended(const StudyRecord& record) {
    return std::count_if(record.trials.begin(), record.trials.end(),
                         [](const TrialRecord& trial) { return is_final(trial.state) && trial.repeat_of == 0; });
}

}  // namespace

std::vector<std::int64_t> analysed_trials(const Study& study, const StudyRecord& record, std::size_t most) {
    constexpr std::uint64_t element = 1U << 20;  // apart from other draws of this purpose
    const bool all = static_cast<std::size_t>(ended(record)) <= most;
    std::vector<std::pair<double, std::int64_t>> drawn;
    for (const TrialRecord& trial : record.trials)
        if ((all || is_final(trial.state)) && trial.repeat_of == 0) {
            const auto number = static_cast<std::uint64_t>(trial.number);
            drawn.emplace_back(all ? 0 : draw_unit(study.seed, Purpose::synthetic, number, element), trial.number);
        }
    if (!all) {
        const auto end = drawn.begin() + static_cast<std::ptrdiff_t>(most);
        std::nth_element(drawn.begin(), end, drawn.end());
        drawn.erase(end, drawn.end());
    }
    std::vector<std::int64_t> numbers;
    for (const auto& [place, number] : drawn) numbers.push_back(number);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

Ends ends_of(const Study& study, const StudyRecord& record, std::uint64_t draw, std::size_t most) {
    std::uint64_t element = std::uint64_t{1} << 22;  // apart from other draws of this purpose
    const auto draw_normal = [&] {                   // Box and Muller
        constexpr double turn = 6.283185307179586;
        const double size = 1 - draw_unit(study.seed, Purpose::synthetic, draw, element++);
        return std::sqrt(-2 * std::log(size)) *
               std::cos(turn * draw_unit(study.seed, Purpose::synthetic, draw, element++));
    };
    const auto [trials, paths, model] =
        curves_of(study, record, most, draw > 0 ? std::function<double()>(draw_normal) : nullptr);
    Ends ends;
    ends.of.resize(record.trials.size());
    std::int64_t complete = 0;
    for (const std::int64_t number : trials) complete += record.trial(number).state == TrialState::complete ? 1 : 0;
    if (static_cast<std::size_t>(ended(record)) > most) ends.drawn_from = ended(record);
    for (std::size_t i = 0; i < trials.size(); ++i) {
        const TrialRecord& trial = record.trial(trials[i]);
        std::optional<End>& own = ends.of[static_cast<std::size_t>(trials[i]) - 1];
        if (!is_final(trial.state) || paths[i].empty()) continue;
        if (trial.state != TrialState::stopped) {
            ++ends.trained;
            ends.lost += std::isfinite(paths[i].back()) ? 0 : 1;
            own = End{.loss = paths[i].back()};
            continue;
        }
        const std::size_t node = paths[i].size() - 1;
        if (complete < enough_to_predict) {
            ++ends.left_out;
            continue;
        }
        ++ends.predicted;
        // The model caps values that are far worse than the median. Here they keep their distance from it: where the
        // sampler tries few of the bad configurations, all of them would otherwise look alike.
        const double value = paths[i].back(), beyond = value - model.bounded(node, value);
        const CurveModel::End end = model.end(paths[i]);
        own = End{end.value + beyond + (draw > 0 ? end.deviation * draw_normal() : 0), true, trial.rule};
    }
    if (complete < enough_to_predict) compare_early(study, record, trials, ends);
    double worst = -INFINITY;
    for (const auto& end : ends.of)
        if (end && std::isfinite(end->loss)) worst = std::max(worst, end->loss);
    for (auto& end : ends.of)
        if (end && !std::isfinite(end->loss)) end->loss = worst;
    return ends;
}

std::map<std::string, Agreement> agreement_of_ranks(const Study& study, const StudyRecord& record, std::size_t most) {
    std::map<std::string, Agreement> rules;
    std::vector<const TrialRecord*> trained;
    for (const std::int64_t number : analysed_trials(study, record, most)) {
        const TrialRecord& trial = record.trial(number);
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
            const double own = *own_value(*trial);
            const double end = study.objective.direction == Direction::minimize ? own : -own;
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

std::map<std::string, Cost> cost_of_stopping(const Study& study, const StudyRecord& record, std::size_t most) {
    const double sign = study.objective.direction == Direction::minimize ? 1 : -1;
    std::int64_t trained = 0;
    double best = INFINITY;
    for (const TrialRecord& trial : record.trials) {
        if (trial.repeat_of != 0) continue;
        if (trial.state == TrialState::complete && trial.value) ++trained;
        if (is_final(trial.state) && trial.value) best = std::min(best, sign * *trial.value);
    }
    std::map<std::string, Cost> rules;
    if (trained < enough_to_estimate) return rules;
    const auto [trials, paths, model] = curves_of(study, record, most);
    for (std::size_t i = 0; i < trials.size(); ++i) {
        const TrialRecord& trial = record.trial(trials[i]);
        if (trial.state != TrialState::stopped || trial.rule == "user" || paths[i].empty()) continue;
        const CurveModel::End end = model.end(paths[i]);
        Cost& cost = rules[trial.rule];
        if (cost.trials++ > 0 && end.value - end.deviation >= sign * cost.predicted - cost.deviation) continue;
        cost.nearest = trial.number;
        cost.predicted = sign * end.value;
        cost.deviation = end.deviation;
        const double gain = best - (end.value - end.deviation);
        cost.about = gain > rounding * std::abs(best) ? gain : 0;
    }
    return rules;
}

std::vector<std::string> stopping_text(const Study& study, const StudyRecord& record, std::size_t most) {
    std::vector<std::string> lines;
    const bool drawn = static_cast<std::size_t>(ended(record)) > most;
    for (const auto& [rule, ranks] : agreement_of_ranks(study, record, most))
        lines.push_back(rule + ": after " + step_name(study) + " " + std::to_string(ranks.step) +
                        " the order of two trials matched their final order in " +
                        std::to_string(std::lround(100 * ranks.share)) + " % of pairs (of " +
                        std::to_string(ranks.trials) + " trials trained to their end" +
                        (drawn ? ", of " + std::to_string(most) + " drawn at random" : "") + ")");
    for (const auto& [rule, cost] : cost_of_stopping(study, record, most)) {
        const std::string of =
            counted(cost.trials, "trial") + " that it stopped" + (drawn ? " and that were drawn at random" : "");
        lines.push_back(
            cost.about > 0
                ? rule + ": estimated cost about " + shown(cost.about) + " of " + study.objective.metric +
                      ", but it may be more: trial " + std::to_string(cost.nearest) + " is predicted to end at " +
                      shown(cost.predicted) + ", give or take " + shown(cost.deviation)
                : rule + ": of the " + of + " none is predicted to end better than the best, but some may have");
    }
    return lines;
}

}  // namespace hpo::analysis
