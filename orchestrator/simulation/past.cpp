#include "orchestrator/simulation/past.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hpo/standing.hpp"
#include "orchestrator/simulation/pace.hpp"
#include "orchestrator/stopping/rules.hpp"

namespace hpo {
namespace {

bool is_under_way(const TrialRecord& trial) {
    return trial.state == TrialState::running || trial.state == TrialState::queued;
}

/// Returns the loss (smaller is better) as of `step`, or nothing if the objective had not been reported by then. The
/// curve is only read if the trial's best step is later. A thinned trial has no curve, so its final value stands for
/// its earlier steps too. It was promoted there, so it was among the better trials.
std::optional<double> loss_at(const TrialRecord& trial, std::int64_t step, const Objective& objective) {
    std::optional<double> value;
    if (trial.value && (trial.thinned || (objective.at == Objective::At::best && trial.best_step <= step))) {
        value = trial.value;
    } else {
        for (const Report& report : trial.curve) {
            if (report.step > step) break;
            const auto found = report.metrics.find(objective.metric);
            if (found == report.metrics.end() || !std::isfinite(found->second)) continue;
            if (!value || objective.at == Objective::At::last || better(objective.direction, found->second, *value))
                value = found->second;
        }
    }
    if (value && objective.direction == Direction::maximize) *value = -*value;
    return value;
}

}  // namespace

void Survival::estimate() {
    std::sort(reached_.begin(), reached_.end());
    double left = 1;
    for (const auto& [step, ends] : ends_) {
        const auto at_risk = reached_.end() - std::lower_bound(reached_.begin(), reached_.end(), step);
        left *= 1 - static_cast<double>(ends) / static_cast<double>(at_risk);
        left_.emplace_back(step, left);
        count_ += static_cast<double>(ends);
    }
}

std::size_t Survival::beyond(std::int64_t step) const {
    return static_cast<std::size_t>(reached_.end() - std::upper_bound(reached_.begin(), reached_.end(), step));
}

std::optional<std::int64_t> Survival::end(std::int64_t from, std::int64_t to, double uniform, double frailty) const {
    auto next = std::upper_bound(left_.begin(), left_.end(), std::pair{from, std::numeric_limits<double>::infinity()});
    const double before = next == left_.begin() ? 1 : std::prev(next)->second;
    if (before <= 0) return std::nullopt;
    const double least = before * std::pow(uniform, 1 / frailty);
    next = std::partition_point(next, left_.end(), [&](const auto& point) { return point.second >= least; });
    if (next == left_.end() || next->first >= to) return std::nullopt;
    return next->first;
}

Past::Past(const Study& study, const StudyRecord& record, double held_seconds) {
    spares = study.script() != nullptr;
    find_rungs(study, record);
    find_full(study, record);
    bool measured = true;  // false if the pace of a trial is not known; all steps are then assumed to cost the same
    double cost = 0, trained = 0, attempts = 0, running = 0;
    const auto paces = step_seconds(record);
    for (const TrialRecord& trial : record.trials) {
        const auto& pace = paces[static_cast<std::size_t>(trial.number - 1)];
        measured &= trial.steps() < 1 || pace;
        cost += pace.value_or(0) * static_cast<double>(trial.trained);
        trained += static_cast<double>(trial.trained);
        attempts += static_cast<double>(trial.attempt);
        if (trial.state != TrialState::running) continue;
        ++running;
        cost += pace.value_or(0) / 2;  // its current step is half done on average
    }
    const double seconds = std::max(held_seconds, 1e-9);
    parallel = static_cast<std::size_t>(std::max({1.0, running, measured ? std::ceil(cost / seconds - 0.1) : 0.0}));
    const double total = seconds * static_cast<double>(parallel);
    if (measured && attempts > 0) start = std::max(0.0, total - cost) / attempts;
    for (const TrialRecord& trial : record.trials)
        add(trial, study.objective, study.budget.epochs,
            measured || trained <= 0 ? paces[static_cast<std::size_t>(trial.number - 1)].value_or(0) : total / trained);
    survival.estimate();
    if (steps_before_pauses_ > 0) again = std::clamp(repeated_steps_ / steps_before_pauses_, 0.0, 1.0);
    for (PastRung& rung : rungs) {
        std::sort(rung.losses.begin(), rung.losses.end());
        std::sort(rung.passed.begin(), rung.passed.end());
        std::sort(rung.waiting.begin(), rung.waiting.end(),
                  [](const auto& a, const auto& b) { return a.loss < b.loss; });
    }
    if (const TrialRecord* best = best_trial(record, study.objective))
        tried = std::count_if(record.trials.begin() + best->number, record.trials.end(),
                              [](const TrialRecord& trial) { return !is_under_way(trial) && trial.repeat_of == 0; });
}

void Past::find_rungs(const Study& study, const StudyRecord& record) {
    const auto rules = Rules::make(study);
    if (!rules) return;
    const auto paused_at = [&](std::int64_t step) {
        return std::any_of(record.trials.begin(), record.trials.end(), [&](const TrialRecord& trial) {
            return trial.steps() == step && (trial.state == TrialState::paused || trial.state == TrialState::stopped);
        });
    };
    for (const Gate& gate : rules->gates())
        if (gate.step < study.budget.epochs && (gate.certain || paused_at(gate.step)))
            rungs.push_back({gate.step, gate.share});
    may_end = study.stopping.size() > (rungs.empty() ? 0 : 1);
    least_full = full_share = rules->least_full_share();
}

/// Guesses which trials are full trainings, which the record does not contain: the worst of the trials that passed the
/// first rung without a pause; their number is the excess over the rung's share.
void Past::find_full(const Study& study, const StudyRecord& record) {
    for (const TrialRecord& trial : record.trials) steps += trial.steps();
    if (full_share <= 0 || rungs.empty()) return;
    const std::int64_t first = rungs.front().step;
    std::size_t reached = 0, passed = 0;
    std::vector<std::pair<double, std::int64_t>> without_pause;
    for (const TrialRecord& trial : record.trials) {
        if (trial.steps() < first) continue;
        ++reached;
        const bool waits = trial.steps() == first && !is_under_way(trial);
        if (waits) continue;
        ++passed;
        if (const auto loss = loss_at(trial, first, study.objective); loss && trial.attempt <= 1)
            without_pause.emplace_back(*loss, trial.number);
    }
    std::sort(without_pause.rbegin(), without_pause.rend());
    const auto promoted = static_cast<std::size_t>(static_cast<double>(reached) * rungs.front().share + 1e-9);
    std::size_t count = std::min(without_pause.size(), passed - std::min(passed, promoted));
    for (const auto& [loss, number] : without_pause) {
        if (count-- == 0) break;
        full_trials_.insert(number);
    }
    full = static_cast<std::int64_t>(full_trials_.size()) * study.budget.epochs;
    if (full > study.budget.epochs && steps > 0)
        full_share = std::clamp(static_cast<double>(full - study.budget.epochs / 2) / static_cast<double>(steps),
                                full_share, 0.9);
}

bool Past::is_rung(std::int64_t step) const {
    return std::any_of(rungs.begin(), rungs.end(), [&](const PastRung& rung) { return rung.step == step; });
}

/// Returns the number of rungs at which a script without checkpoints has paused. It repeats its steps after each pause,
/// so the number of repeated steps determines these rungs.
std::size_t Past::rungs_before_again(const TrialRecord& trial) const {
    std::int64_t repeated = trial.trained - trial.steps();
    const auto max_pauses = static_cast<std::size_t>(std::max<std::int64_t>(0, trial.attempt - 1 - trial.failures));
    std::size_t count = 0;
    for (; count < std::min(max_pauses, rungs.size()) && rungs[count].step <= repeated; ++count)
        repeated -= rungs[count].step;
    return count;
}

void Past::add(const TrialRecord& trial, const Objective& objective, std::int64_t epochs, double seconds_per_step) {
    ++trials;
    const std::int64_t taken = trial.steps();
    const double pace = taken < 1 ? 0 : seconds_per_step;
    if (!is_under_way(trial)) ++decided;
    if (trial.attempt > 0 || is_final(trial.state)) {
        survival.add_reached(taken);
        const bool ended_at_rung = trial.state == TrialState::stopped && is_rung(taken);
        if (is_final(trial.state) && !ended_at_rung && taken < epochs) survival.add_end(taken);
    }
    const auto next_rung =
        std::partition_point(rungs.begin(), rungs.end(), [&](const PastRung& r) { return r.step <= taken; });
    const auto reached = std::max(static_cast<std::size_t>(next_rung - rungs.begin()),
                                  is_under_way(trial) ? rungs_before_again(trial) : 0);
    const bool rests = !is_under_way(trial) && reached > 0 && rungs[reached - 1].step == taken;
    const std::size_t passed = reached - (rests ? 1 : 0);
    if (trial.attempt > 1 && passed > 0) {
        repeated_steps_ += static_cast<double>(trial.trained - taken);
        for (std::size_t i = 0; i < passed; ++i) steps_before_pauses_ += static_cast<double>(rungs[i].step);
    }
    const bool is_full = full_trials_.contains(trial.number);
    for (std::size_t i = 0; i < passed; ++i) rungs[i].gone_on += is_full ? 0 : 1;
    rank(trial, objective, reached, trial.state == TrialState::paused && rests, pace);
    if (pace > 0) examples.push_back({pace, reached > 0 ? loss_at(trial, rungs[0].step, objective) : std::nullopt});
    if (is_under_way(trial))
        under_way.push_back({pace, taken, reached,
                             reached > 0 ? loss_at(trial, rungs[reached - 1].step, objective) : std::nullopt,
                             trial.state == TrialState::running, trial.attempt > 0, is_full});
}

/// Adds the trial's losses at the `reached` rungs.
void Past::rank(const TrialRecord& trial, const Objective& objective, std::size_t reached, bool waits, double pace) {
    std::optional<double> previous;
    for (std::size_t i = 0; i < reached; ++i) {
        const auto loss = loss_at(trial, rungs[i].step, objective);
        if (loss) rungs[i].losses.push_back(*loss);
        if (i > 0 && previous && loss) rungs[i - 1].passed.push_back(*previous);
        if (loss && waits && i + 1 == reached) rungs[i].waiting.push_back({*loss, pace});
        previous = loss;
    }
}

}  // namespace hpo
