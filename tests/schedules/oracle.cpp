#include "tests/schedules/oracle.hpp"

#include <cmath>
#include <stdexcept>

#include "tests/schedules/workers.hpp"

namespace hpo::schedules {

void violated(const std::string& promise) { throw std::runtime_error(promise); }

std::string named(std::int64_t trial) { return "trial " + std::to_string(trial); }

void Oracle::check_first_end(std::int64_t trial) const {
    if (announced_.contains(trial)) violated(named(trial) + " ends again after its end was announced");
}

void Oracle::check_announced(const StudyRecord& record, const std::string& when) const {
    for (const auto& [trial, end] : announced_) {
        if (trial > static_cast<std::int64_t>(record.trials.size())) violated(named(trial) + " is lost " + when);
        const TrialRecord& now = record.trial(trial);
        if (now.state != end.state || own_value(now) != end.value)
            violated(named(trial) + " was announced as " + std::string(to_text(end.state)) + " and is " +
                     std::string(to_text(now.state)) + " " + when);
    }
}

std::int64_t Oracle::check_the_end(std::span<const StoredEvent> events) const {
    StudyRecord record;
    for (const StoredEvent& stored : events) {
        apply(record, stored, study_.objective);
        const auto* again = std::get_if<event::Requeued>(&stored.event);
        if (again && again->charged && again->outcome != Outcome::lost)
            violated(named(again->trial) + " was charged for an attempt that was " +
                     std::string(to_text(again->outcome)));
    }
    check_announced(record, "in the end");
    std::int64_t configurations = 0;
    for (const TrialRecord& trial : record.trials) {
        configurations += trial.repeat_of == 0;
        check_end_of(trial);
        check_value(trial);
    }
    const auto trials = static_cast<std::int64_t>(record.trials.size());
    if (trials > study_.budget.trials) violated("there are more trials than the budget has");
    if (study_.repeats == 1 && configurations != study_.budget.trials)
        violated("the study ended with " + std::to_string(configurations) + " of " +
                 std::to_string(study_.budget.trials) + " trials");
    return trials;
}

void Oracle::check_end_of(const TrialRecord& trial) const {
    if (!is_final(trial.state)) violated(named(trial.number) + " has not ended with the study");
    const bool bad = trial.state == TrialState::failed || trial.state == TrialState::diverged;
    if (bad && !harmed.contains(trial.number))
        violated(named(trial.number) + " " + std::string(to_text(trial.state)) +
                 " although nothing happened to it: " + trial.reason);
    if (trial.rule == "user" && !stopped_by_user.contains(trial.number))
        violated(named(trial.number) + " was not stopped by the user");
}

/// Steps are those that this trial's workers took, and its value follows from them.
void Oracle::check_value(const TrialRecord& trial) const {
    std::int64_t before = 0;
    std::optional<double> value;
    for (const Report& report : trial.curve) {
        if (report.step <= before) violated(named(trial.number) + " has steps out of order");
        before = report.step;
        const double loss = report.metrics.at("loss");
        if (!std::isfinite(loss)) continue;
        if (loss != loss_of(trial.number, report.step)) violated(named(trial.number) + " has another one's step");
        if (!value || study_.objective.at == Objective::At::last || loss < *value) value = loss;
    }
    if (trial.state == TrialState::complete && own_value(trial) != value)
        violated(named(trial.number) + " has a value that its steps do not give");
}

}  // namespace hpo::schedules
