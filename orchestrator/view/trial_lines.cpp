#include "orchestrator/view/trial_lines.hpp"

#include <algorithm>
#include <utility>

#include "hpo/open_trials.hpp"
#include "hpo/printable.hpp"
#include "hpo/step_name.hpp"
#include "hpo/text.hpp"
#include "hpo/training_seconds.hpp"
#include "orchestrator/view/time_left.hpp"

namespace hpo::view {
namespace {

std::string first_line(const std::string& reason) {
    std::string first = reason.substr(0, reason.find('\n'));
    while (!first.empty() && (first.back() == ':' || first.back() == ' ')) first.pop_back();
    return printable(first);
}

/// Returns "asha: 2nd of 5 at rung 2". Only the first clause of a rule's reason is shown; hpo.log has all.
std::string reason_of_rule(const std::string& rule, const std::string& reason) {
    const std::string first = first_line(reason.substr(0, reason.find(';')));
    if (rule.empty()) return first;
    return printable(rule) + (first.empty() ? "" : ": " + first);
}

std::string right(const std::string& text, std::size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string left(const std::string& text, std::size_t width) {
    return text + std::string(width - std::min(width, text.size()), ' ');
}

}  // namespace

/// Returns how the trial stands beside the best one.
std::string TrialLines::standing(const TrialRecord& trial, const StudyRecord& record, const TrialRecord* best) const {
    if (const std::string broken = broken_text(trial, study_.objective); !broken.empty())
        return "breaks a constraint: " + broken;
    if (!study_.objective.further.empty()) return {};
    if (trial.repeat_of != 0) {
        const TrialRecord& first = record.trial(trial.repeat_of);
        const std::string seeds = seeds_text(first);
        return "another seed for trial " + std::to_string(first.number) +
               (seeds.empty() ? "" : ", which now has " + short_number(*first.value) + ", " + seeds);
    }
    if (!best || trial.state == TrialState::failed) return {};
    if (best->number == trial.number) return "best so far";
    return "best " + short_number(*best->value) + " (" + std::to_string(best->number) + ")";
}

std::string TrialLines::row(const TrialRecord& trial, const std::string& state, const std::string& more) const {
    const std::size_t digits = std::to_string(std::max(planned_trials(study_.budget), trial.number)).size();
    const std::size_t steps = study_.budget.open ? 1 : progress_text(study_, study_.budget.epochs).size();
    std::string text = "trial " + right(std::to_string(trial.number), digits) + "  " + study_.objective.metric + " " +
                       left(trial.value ? short_number(*own_value(trial)) : "-", 8);
    for (const Goal& goal : study_.objective.further)
        if (const auto other = metric_that_counts(trial, goal.metric))
            text += "  " + goal.metric + " " + left(short_number(*other), 8);
    const auto seconds = seconds_taken(trial);
    text += "  " + left(state, 8) + "  " + right(progress_text(study_, trial.steps()), steps) + "  " +
            right(seconds ? duration_text(*seconds) : "-", 6);
    if (!more.empty()) text += "  " + more;
    return text;
}

std::string TrialLines::line(const StoredEvent& stored, const StudyRecord& record) {
    const std::int64_t changed = trial_of(stored.event);
    const TrialRecord* best = changed ? best_.update(record, changed) : best_.update(record);
    const auto row_of = [&](std::int64_t number, const std::string& state, const std::string& reason) {
        const TrialRecord& trial = record.trial(number);
        const std::string stands = standing(trial, record, best);
        return row(trial, state, stands + (stands.empty() || reason.empty() ? "" : "  ") + reason);
    };
    return std::visit(Overloaded{
                          [&](const event::Paused& e) {
                              const auto index = static_cast<std::size_t>(e.trial);
                              if (paused_.size() <= index) paused_.resize(index + 1);
                              if (paused_[index]) return std::string();
                              paused_[index] = true;
                              return row_of(e.trial, "paused", reason_of_rule(e.rule, e.reason));
                          },
                          [&](const event::Requeued& e) {
                              // A promotion is no news, and the engine's warning about a failure names the next step.
                              if (e.outcome == Outcome::paused || e.outcome == Outcome::out_of_memory || e.charged)
                                  return std::string();
                              const std::string reason = first_line(e.reason);
                              return "trial " + std::to_string(e.trial) + " is queued again" +
                                     (reason.empty() ? "" : ": " + reason);
                          },
                          [&](const event::Finished& e) {
                              return row_of(e.trial, std::string(to_text(e.state)),
                                            e.rule.empty() ? first_line(e.reason) : reason_of_rule(e.rule, e.reason));
                          },
                          [&](const event::Closing& e) {
                              // All trials of a script report the same names.
                              if (std::exchange(closing_told_, true)) return std::string();
                              std::string values;
                              for (const auto& [name, number] : e.values)
                                  values += (values.empty() ? "" : ", ") + printable(name) + " " + short_number(number);
                              return "trial " + std::to_string(e.trial) + " reports at its end: " + values +
                                     " (hpo show has these metrics of each trial)";
                          },
                          [](const auto&) { return std::string(); },
                      },
                      stored.event);
}

std::string running_line(const Study& study, const StudyRecord& record, const Moment& moment) {
    constexpr std::size_t most = 4;
    std::string text = duration_text(moment.seconds) + ": " + count_text(study, record);
    if (const auto estimate = time_left(study, record, moment)) text += ", " + time_left_text(*estimate);
    std::size_t running = 0;
    for (const TrialRecord& trial : record.trials) {
        if (trial.state != TrialState::running || ++running > most) continue;
        text += (running == 1 ? "; trial " : ", trial ") + std::to_string(trial.number) + " at " + step_name(study) +
                " " + progress_text(study, trial.steps());
        if (!trial.curve.empty())
            if (const auto found = trial.curve.back().metrics.find(study.objective.metric);
                found != trial.curve.back().metrics.end())
                text += " with " + study.objective.metric + " " + short_number(found->second);
    }
    if (running > most) text += " and " + std::to_string(running - most) + " more";
    if (!moment.waits.empty()) text += "; waiting: " + printable(moment.waits);
    return text;
}

}  // namespace hpo::view
