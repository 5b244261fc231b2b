#include "orchestrator/stopping/restart.hpp"

#include <algorithm>
#include <cmath>

#include "hpo/median.hpp"
#include "hpo/step_name.hpp"
#include "hpo/text.hpp"

namespace hpo {

std::string restart_text(const Restart& restart) {
    const std::string steps = counted(restart.left, "step");
    return "its restart would take " + duration_text(restart.cost()) +
           (restart.repeated > 0 ? " with the steps that it would repeat" : "") + ", its remaining " + steps + " " +
           duration_text(restart.rest());
}

void RecentMedian::add(double value) {
    if (!std::isfinite(value) || value < 0) return;
    if (values_.size() < most)
        values_.push_back(value);
    else
        values_[next_++ % most] = value;
}

std::optional<double> RecentMedian::value() const {
    if (values_.empty()) return std::nullopt;
    return upper_median(values_);
}

TrialLengths::TrialLengths(const Study& study)
    : budget_(study.budget.epochs), fixed_(!study.script() && !study.budget.open) {}

void TrialLengths::add(const TrialRecord& trial) {
    if (trial.state != TrialState::complete || trial.steps() < 1) return;
    ++count_;
    sum_ += trial.steps();
}

std::optional<std::int64_t> TrialLengths::expected(std::int64_t steps) const {
    if (fixed_) return budget_;
    if (count_ == 0) return std::nullopt;
    const auto mean = static_cast<std::int64_t>(std::lround(static_cast<double>(sum_) / static_cast<double>(count_)));
    return std::clamp(mean, std::min(steps, budget_), budget_);
}

Restarts::Restarts(const Study& study)
    : starts_anew_(study.script() != nullptr), budget_(study.budget.epochs), lengths_(study) {}

void Restarts::reported(const TrialRecord& trial) {
    if (!starts_anew_ || trial.curve.size() != 2) return;
    if (const auto pace = seconds_between_steps(trial)) paces_.add(*pace);
}

std::optional<Restart> Restarts::of(const TrialRecord& trial, bool checkpoints) {
    if (!starts_anew_ || trial.starts.last.steps < 1) return std::nullopt;
    const auto own = seconds_between_steps(trial);
    const auto pace = own ? own : paces_.value();
    if (!pace) return std::nullopt;
    const double start = trial.starts.last.before_steps(*pace);
    starts_.add(start);
    return Restart{.start = std::min(start, *starts_.value()),
                   .step = *pace,
                   .repeated = checkpoints ? 0 : trial.steps(),
                   .left = lengths_.expected(trial.steps()).value_or(budget_) - trial.steps()};
}

}  // namespace hpo
