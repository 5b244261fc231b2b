#include "orchestrator/view/past.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orchestrator/stopping/rules.hpp"

namespace hpo::view {
namespace {

bool goes_on(const TrialRecord& trial) {
    return trial.state == TrialState::running || trial.state == TrialState::queued;
}

/// Returns the loss (smaller is better) as of `step`; nothing if the objective was not reported until then. Mostly the
/// trial's best step tells it, and the curve is read only if that came later. The value of a thinned trial is used for
/// its earlier steps too: it went on from there, so it was among the better ones.
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
        const auto risked = reached_.end() - std::lower_bound(reached_.begin(), reached_.end(), step);
        left *= 1 - static_cast<double>(ends) / static_cast<double>(risked);
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

Past::Past(const Study& study, const StudyRecord& record, const Moment& moment) {
    find_rungs(study, record);
    find_full(study, record);
    bool measured = true;  // whether seconds of all trials are known; otherwise each step is taken to cost the same
    double cost = 0, steps = 0, attempts = 0, running = 0;
    const auto paces = step_seconds(record);
    for (const TrialRecord& trial : record.trials) {
        const auto& pace = paces[static_cast<std::size_t>(trial.number - 1)];
        measured &= trial.steps() < 1 || pace;
        cost += pace.value_or(0) * static_cast<double>(trial.trained);
        steps += static_cast<double>(trial.trained);
        attempts += static_cast<double>(trial.attempt);
        if (trial.state != TrialState::running) continue;
        ++running;
        cost += pace.value_or(0) / 2;  // half of its present step
    }
    const double seconds = std::max(moment.seconds, 1e-9);
    parallel = static_cast<std::size_t>(std::max({1.0, running, measured ? std::ceil(cost / seconds - 0.1) : 0.0}));
    const double total = seconds * static_cast<double>(parallel);
    if (measured && attempts > 0) start = std::max(0.0, total - cost) / attempts;
    for (const TrialRecord& trial : record.trials)
        add(trial, study.objective, study.budget.epochs,
            measured || steps <= 0 ? paces[static_cast<std::size_t>(trial.number - 1)].value_or(0) : total / steps);
    survival.estimate();
    if (before_pauses_ > 0) again = std::clamp(taken_again_ / before_pauses_, 0.0, 1.0);
    for (Rung& rung : rungs) {
        std::sort(rung.losses.begin(), rung.losses.end());
        std::sort(rung.passed.begin(), rung.passed.end());
        std::sort(rung.waiting.begin(), rung.waiting.end(),
                  [](const auto& a, const auto& b) { return a.loss < b.loss; });
    }
    if (const TrialRecord* best = best_trial(record, study.objective))
        tried = std::count_if(record.trials.begin() + best->number, record.trials.end(),
                              [](const TrialRecord& trial) { return !goes_on(trial); });
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

/// The record does not tell which trials are trained in full whatever their rank. They are taken to be the worst of
/// those that passed the first rung without a pause, as many as passed it beyond the rung's share.
void Past::find_full(const Study& study, const StudyRecord& record) {
    for (const TrialRecord& trial : record.trials) steps += trial.steps();
    if (full_share <= 0 || rungs.empty()) return;
    const std::int64_t first = rungs.front().step;
    std::size_t came = 0, went_on = 0;
    std::vector<std::pair<double, std::int64_t>> without_pause;
    for (const TrialRecord& trial : record.trials) {
        if (trial.steps() < first) continue;
        ++came;
        const bool waits = trial.steps() == first && !goes_on(trial);
        if (waits) continue;
        ++went_on;
        if (const auto loss = loss_at(trial, first, study.objective); loss && trial.attempt <= 1)
            without_pause.emplace_back(*loss, trial.number);
    }
    std::sort(without_pause.rbegin(), without_pause.rend());
    const auto promoted = static_cast<std::size_t>(static_cast<double>(came) * rungs.front().share + 1e-9);
    std::size_t count = std::min(without_pause.size(), went_on - std::min(went_on, promoted));
    for (const auto& [loss, number] : without_pause) {
        if (count-- == 0) break;
        full_trials_.insert(number);
    }
    full = static_cast<std::int64_t>(full_trials_.size()) * study.budget.epochs;
    if (full > study.budget.epochs && steps > 0)
        full_share = std::clamp(static_cast<double>(full - study.budget.epochs / 2) / static_cast<double>(steps),
                                full_share, 0.9);
}

bool Past::at_a_rung(std::int64_t step) const {
    return std::any_of(rungs.begin(), rungs.end(), [&](const Rung& rung) { return rung.step == step; });
}

/// A script without a checkpoint repeats its steps after each pause: the number of steps that it took in all tells at
/// which rungs the pauses were.
std::size_t Past::rungs_before_again(const TrialRecord& trial) const {
    std::int64_t before = trial.trained - trial.steps();
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(0, trial.attempt - 1 - trial.failures));
    std::size_t count = 0;
    for (; count < std::min(most, rungs.size()) && rungs[count].step <= before; ++count) before -= rungs[count].step;
    return count;
}

/// `step` is the seconds that a step takes.
void Past::add(const TrialRecord& trial, const Objective& objective, std::int64_t epochs, double step) {
    ++trials;
    const std::int64_t steps = trial.steps();
    const double pace = steps < 1 ? 0 : step;
    if (!goes_on(trial)) ++decided;
    if (trial.attempt > 0 || is_final(trial.state)) {
        survival.add_reached(steps);
        const bool closed = trial.state == TrialState::stopped && at_a_rung(steps);
        if (is_final(trial.state) && !closed && steps < epochs) survival.add_end(steps);
    }
    const auto reached =
        std::partition_point(rungs.begin(), rungs.end(), [&](const Rung& r) { return r.step <= steps; });
    const auto came_to =
        std::max(static_cast<std::size_t>(reached - rungs.begin()), goes_on(trial) ? rungs_before_again(trial) : 0);
    const bool rests = !goes_on(trial) && came_to > 0 && rungs[came_to - 1].step == steps;
    if (trial.attempt > 1 && came_to > (rests ? 1u : 0u)) {
        taken_again_ += static_cast<double>(trial.trained - steps);
        for (std::size_t i = 0; i + (rests ? 1 : 0) < came_to; ++i)
            before_pauses_ += static_cast<double>(rungs[i].step);
    }
    const bool is_full = full_trials_.contains(trial.number);
    for (std::size_t i = 0; i + (rests ? 1 : 0) < came_to; ++i) rungs[i].gone_on += is_full ? 0 : 1;
    rank(trial, objective, came_to, trial.state == TrialState::paused && rests, pace);
    if (pace > 0) examples.push_back({pace, came_to > 0 ? loss_at(trial, rungs[0].step, objective) : std::nullopt});
    if (goes_on(trial))
        under_way.push_back({pace, steps, came_to,
                             came_to > 0 ? loss_at(trial, rungs[came_to - 1].step, objective) : std::nullopt,
                             trial.state == TrialState::running, trial.attempt > 0, is_full});
}

void Past::rank(const TrialRecord& trial, const Objective& objective, std::size_t came_to, bool waits, double pace) {
    std::optional<double> before;
    for (std::size_t i = 0; i < came_to; ++i) {
        const auto loss = loss_at(trial, rungs[i].step, objective);
        if (loss) rungs[i].losses.push_back(*loss);
        if (i > 0 && before && loss) rungs[i - 1].passed.push_back(*before);
        if (loss && waits && i + 1 == came_to) rungs[i].waiting.push_back({*loss, pace});
        before = loss;
    }
}

}  // namespace hpo::view
