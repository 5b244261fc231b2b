#include "orchestrator/engine/judgeable.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "hpo/nearest_metric.hpp"
#include "hpo/standing.hpp"

namespace hpo {

namespace {

/// The metric by which every trial may diverge, also with another objective.
constexpr const char* loss_metric = "loss";

}  // namespace

std::string divergence(const Report& report, const Objective& objective) {
    std::vector<std::string> names{objective.metric, loss_metric};
    for (const Goal& goal : objective.further) names.push_back(goal.metric);
    for (const Constraint& constraint : objective.constraints) names.push_back(constraint.metric);
    for (const std::string& name : names)
        if (const auto found = report.metrics.find(name);
            found != report.metrics.end() && !std::isfinite(found->second))
            return name + " is " + to_text(found->second) + " at step " + std::to_string(report.step);
    return {};
}

std::string unjudgeable(const TrialRecord& trial, const Objective& objective, bool ended) {
    if (objective.simple() || (objective.at == Objective::At::last && !ended)) return {};
    if (trial.best_step == 0 || (!ended && trial.best_step != trial.steps())) return {};
    const auto step = std::lower_bound(trial.curve.begin(), trial.curve.end(), trial.best_step,
                                       [](const Report& report, std::int64_t at) { return report.step < at; });
    if (step == trial.curve.end()) return {};
    const std::string missing = missing_metric(*step, objective);
    if (missing.empty()) return {};
    const bool constraint = std::none_of(objective.further.begin(), objective.further.end(),
                                         [&](auto& one) { return one.metric == missing; });
    return "step " + std::to_string(step->step) + " reported " + objective.metric + " and no " + missing + ", which " +
           (constraint ? "is a constraint" : "is an objective") + ": report both with every step" +
           (objective.at == Objective::At::last ? "" : ", or set at: last and report both with the last step") +
           " (it has " + names_with_nearest(missing, step->metrics) + ")";
}

}  // namespace hpo
