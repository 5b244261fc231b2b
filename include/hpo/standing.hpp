// How trials of a study with several objectives or with constraints stand to each other.
//
// A trial that keeps the constraints goes before one that does not; of two that do not, that of the smaller violation
// goes first (Deb: "An efficient constraint handling method for genetic algorithms", 2000). Among trials that keep them
// one dominates another if it is nowhere worse and somewhere better. The trials that none dominates are the Pareto
// front. With one objective the front is the best trial, and others that are equal to it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "hpo/event.hpp"

namespace hpo {

struct Standing {
    std::vector<double> losses;  ///< one for each objective; smaller is better, also where the objective is maximized
    double violation = 0;        ///< the sum over all constraints, each as a share of its bound; 0: all are kept

    [[nodiscard]] bool feasible() const { return violation <= 0; }
    bool operator==(const Standing&) const = default;
};

/// Returns the distance of a value from the constraint, as a share of the bound (of 1 if the bound is 0). It is above 0
/// outside of the constraint only.
inline double violation_of(const Constraint& constraint, double value) {
    const auto unit = [](double bound) { return bound == 0 ? 1 : std::abs(bound); };
    double most = -INFINITY;
    if (constraint.max) most = std::max(most, (value - *constraint.max) / unit(*constraint.max));
    if (constraint.min) most = std::max(most, (*constraint.min - value) / unit(*constraint.min));
    return most;
}

/// Returns each constraint's violation_of; empty if the study has none, or if a metric is missing.
inline std::vector<double> violations_of(const TrialRecord& trial, const Objective& objective) {
    std::vector<double> violations;
    for (const Constraint& constraint : objective.constraints) {
        const auto value = metric_that_counts(trial, constraint.metric);
        if (!value) return {};
        violations.push_back(violation_of(constraint, *value));
    }
    return violations;
}

/// Returns the standing of a trial, or nothing if it does not count: it diverged or failed, or one of the metrics is
/// missing so far, or it trains the configuration of another trial again, which stands for all their seeds.
inline std::optional<Standing> standing_of(const TrialRecord& trial, const Objective& objective) {
    if (trial.repeat_of != 0 || !trial.value || trial.state == TrialState::diverged ||
        trial.state == TrialState::failed)
        return std::nullopt;
    const auto loss = [](Direction direction, double value) {
        return direction == Direction::minimize ? value : -value;
    };
    Standing standing{{loss(objective.direction, *trial.value)}};
    for (const Goal& goal : objective.further) {
        const auto value = metric_that_counts(trial, goal.metric);
        if (!value) return std::nullopt;
        standing.losses.push_back(loss(goal.direction, *value));
    }
    const std::vector<double> violations = violations_of(trial, objective);
    if (violations.size() < objective.constraints.size()) return std::nullopt;
    for (const double violation : violations) standing.violation += std::max(0.0, violation);
    return standing;
}

/// Returns the first metric of the objectives and constraints that a step lacks; empty if it has all, or if there is
/// one objective.
inline std::string missing_metric(const Report& report, const Objective& objective) {
    for (const Goal& goal : objective.further)
        if (!report.metrics.contains(goal.metric)) return goal.metric;
    for (const Constraint& constraint : objective.constraints)
        if (!report.metrics.contains(constraint.metric)) return constraint.metric;
    return {};
}

inline bool dominates(const Standing& a, const Standing& b) {
    if (!a.feasible() || !b.feasible()) return a.violation < b.violation;
    bool better = false;
    for (std::size_t m = 0; m < a.losses.size(); ++m) {
        if (a.losses[m] > b.losses[m]) return false;
        better |= a.losses[m] < b.losses[m];
    }
    return better;
}

/// Returns the indices of the standings that none dominates, ascending by the first loss, at most all. Where no trial
/// keeps the constraints, these are the standings with the smallest violation. Takes time in n log n, and in n times
/// the size of the front.
inline std::vector<std::size_t> pareto_front(const std::vector<Standing>& standings) {
    std::vector<std::size_t> order(standings.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // A dominating standing comes before the dominated one in this order.
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const Standing &x = standings[a], &y = standings[b];
        return x.violation != y.violation ? x.violation < y.violation : x.losses < y.losses;
    });
    std::vector<std::size_t> front;
    for (const std::size_t i : order)
        if (std::none_of(front.begin(), front.end(),
                         [&](std::size_t other) { return dominates(standings[other], standings[i]); }))
            front.push_back(i);
    return front;
}

/// Returns true if the trial counts and keeps the constraints.
inline bool may_be_best(const TrialRecord& trial, const Objective& objective) {
    if (trial.repeat_of != 0 || !trial.value || trial.state == TrialState::diverged ||
        trial.state == TrialState::failed)
        return false;
    if (objective.simple()) return true;
    const auto standing = standing_of(trial, objective);
    return standing && standing->feasible();
}

/// Returns true if the trial has the better value of the first objective. Among equal trials the earlier one comes
/// first.
inline bool comes_before(const TrialRecord& trial, const TrialRecord& other, const Objective& objective) {
    if (!trial.value) return false;
    if (*trial.value == *other.value) return trial.number < other.number;
    return better(objective.direction, *trial.value, *other.value);
}

/// The trial that comes first by the first objective, among those that keep the constraints; with several objectives
/// it is one end of the front. nullptr: no trial that counts keeps them.
inline const TrialRecord* best_trial(const StudyRecord& record, const Objective& objective) {
    const TrialRecord* best = nullptr;
    for (const TrialRecord& trial : record.trials)
        if ((!best || comes_before(trial, *best, objective)) && may_be_best(trial, objective)) best = &trial;
    return best;
}

/// Counts trials by state, indexed by TrialState.
inline std::array<std::int64_t, 7> count_states(const StudyRecord& record) {
    std::array<std::int64_t, 7> counts{};
    for (const TrialRecord& trial : record.trials) ++counts[static_cast<std::size_t>(trial.state)];
    return counts;
}

inline std::int64_t count_ended(const StudyRecord& record) {
    return std::count_if(record.trials.begin(), record.trials.end(),
                         [](const TrialRecord& trial) { return is_final(trial.state); });
}

/// The best trial of a record that grows. Unlike best_trial() it does not look at all trials each time.
class BestSoFar {
   public:
    /// `objective` must outlive the object.
    explicit BestSoFar(const Objective& objective) : objective_(objective) {}

    /// Returns best_trial(record, objective). Since the last call, only the trial `changed` may have changed.
    const TrialRecord* update(const StudyRecord& record, std::int64_t changed) {
        if (const std::int64_t first = record.trial(changed).repeat_of; first != 0) changed = first;
        const TrialRecord& trial = record.trial(changed);
        if (changed == best_) {  // it may have become worse
            const TrialRecord* best = best_trial(record, objective_);
            best_ = best ? best->number : 0;
        } else if ((best_ == 0 || comes_before(trial, record.trial(best_), objective_)) &&
                   may_be_best(trial, objective_)) {
            best_ = changed;
        }
        return best_ == 0 ? nullptr : &record.trial(best_);
    }
    /// Returns the same after any change.
    const TrialRecord* update(const StudyRecord& record) {
        const TrialRecord* best = best_trial(record, objective_);
        best_ = best ? best->number : 0;
        return best;
    }

   private:
    const Objective& objective_;
    std::int64_t best_ = 0;  ///< its number; 0: there is none
};

/// Trials that count, the best first: those of the Pareto front by the first objective, then of the front without
/// them, and so on; those that break constraints come last. With one objective: by value.
inline std::vector<const TrialRecord*> ranking(const StudyRecord& record, const Objective& objective) {
    std::vector<const TrialRecord*> trials, ranked;
    std::vector<Standing> standings;
    for (const TrialRecord& trial : record.trials)
        if (const auto standing = standing_of(trial, objective))
            trials.push_back(&trial), standings.push_back(*standing);
    if (objective.further.empty()) {
        std::vector<std::size_t> order(trials.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            const Standing &x = standings[a], &y = standings[b];
            return x.violation != y.violation ? x.violation < y.violation : x.losses[0] < y.losses[0];
        });
        for (const std::size_t i : order) ranked.push_back(trials[i]);
        return ranked;
    }
    while (!trials.empty()) {
        std::vector<bool> taken(trials.size(), false);
        for (const std::size_t i : pareto_front(standings)) ranked.push_back(trials[i]), taken[i] = true;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < trials.size(); ++i)
            if (!taken[i]) trials[kept] = trials[i], standings[kept++] = standings[i];
        trials.resize(kept);
        standings.resize(kept);
    }
    return ranked;
}

/// Trials that keep the constraints and that no other dominates, by the first objective. One objective: the best, and
/// its equals. Empty: no trial keeps the constraints.
inline std::vector<const TrialRecord*> front_of(const StudyRecord& record, const Objective& objective) {
    std::vector<const TrialRecord*> trials, front;
    std::vector<Standing> standings;
    for (const TrialRecord& trial : record.trials)
        if (const auto standing = standing_of(trial, objective); standing && standing->feasible())
            trials.push_back(&trial), standings.push_back(*standing);
    for (const std::size_t i : pareto_front(standings)) front.push_back(trials[i]);
    return front;
}

/// The volume that is dominated by a front of losses and bounded by `reference`, by slices along the last coordinate
/// (Fonseca, Paquete, Lopez-Ibanez: "An improved dimension-sweep algorithm for the hypervolume indicator", 2006, in
/// its simplest form). Points that do not lie below the reference everywhere add nothing.
inline double hypervolume(std::vector<std::vector<double>> points, const std::vector<double>& reference) {
    const std::size_t last = reference.size() - 1;
    std::erase_if(points, [&](const std::vector<double>& point) {
        for (std::size_t m = 0; m <= last; ++m)
            if (!(point[m] < reference[m])) return true;
        return false;
    });
    std::sort(points.begin(), points.end(),
              [&](const auto& a, const auto& b) { return a[last] != b[last] ? a[last] < b[last] : a < b; });
    if (points.empty()) return 0;
    if (last == 0) return reference[0] - points[0][0];
    const std::vector<double> below(reference.begin(), reference.end() - 1);
    if (last == 1) {  // a staircase
        double volume = 0, least = reference[0];
        for (const auto& point : points)
            if (point[0] < least) volume += (least - point[0]) * (reference[1] - point[1]), least = point[0];
        return volume;
    }
    double volume = 0;
    std::vector<std::vector<double>> slice;
    for (std::size_t i = 0; i < points.size(); ++i) {
        slice.emplace_back(points[i].begin(), points[i].end() - 1);
        const double end = i + 1 < points.size() ? points[i + 1][last] : reference[last];
        if (end > points[i][last]) volume += (end - points[i][last]) * hypervolume(slice, below);
    }
    return volume;
}

}  // namespace hpo
