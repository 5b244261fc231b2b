#include "orchestrator/engine/step_marks.hpp"

#include <algorithm>
#include <utility>

#include "orchestrator/engine/store_failed.hpp"

namespace hpo {

/// Returns the settings that decide which steps are marked, and that may change between sessions: the budget of steps
/// (which bounds the rungs), the rules, and the objective (which defines the best step).
std::string StepMarks::purpose() const {
    const Objective& objective = study_.objective;
    std::string text = "3, epochs " + std::to_string(study_.budget.epochs) + ", " + objective.metric +
                       (objective.direction == Direction::minimize ? " least" : " most") +
                       (objective.at == Objective::At::last ? " at last" : "");
    for (const Goal& goal : objective.further) text += ", " + goal.metric;
    for (const Constraint& constraint : objective.constraints) text += ", " + constraint.metric;
    for (const PartSpec& rule : study_.stopping) {
        text += ", " + rule.type;
        for (const auto& [name, value] : rule.options) text += ' ' + name + ' ' + to_text(value);
    }
    return text;
}

void StepMarks::begin_replay() {
    replays_ = true;
    if (up_to_date()) replayed_.reset();
}

Result<void> StepMarks::store_replayed() {
    const std::vector<Mark> marks = *std::exchange(replayed_, std::nullopt);
    return store_.remark(purpose(), marks);
}

void StepMarks::took(const StoredEvent& stored, const event::Reported& reported) {
    auto& steps = steps_[reported.trial];
    while (!steps.empty() && steps.back().step >= reported.report.step) steps.pop_back();
    steps.push_back({reported.report.step, stored.sequence});
}

void StepMarks::mark(std::int64_t sequence, SoFar so_far, std::int64_t trial) {
    if (replays_) {
        if (replayed_) replayed_->push_back({sequence, so_far, trial});
    } else if (const auto kept = store_.mark({sequence, so_far, trial}); !kept) {
        throw StoreFailed(kept.error().message);
    }
}

void StepMarks::mark_last(const TrialRecord& trial) { mark(steps_.at(trial.number).back().sequence, SoFar::of(trial)); }

void StepMarks::mark_end(const Event& event, const StudyRecord& record) {
    const auto* paused = std::get_if<event::Paused>(&event);
    const auto* finished = std::get_if<event::Finished>(&event);
    if (!paused && !finished) return;
    const TrialRecord& trial = record.trial(paused ? paused->trial : finished->trial);
    const auto found = steps_.find(trial.number);
    if (found == steps_.end() || found->second.empty()) return;
    const auto& steps = found->second;
    const SoFar so_far = SoFar::of(trial);
    mark(steps.back().sequence, so_far, trial.number);
    const auto best = std::lower_bound(steps.begin(), steps.end(), trial.best_step,
                                       [](const Step& one, std::int64_t step) { return one.step < step; });
    if (finished && best != steps.end() && best->step == trial.best_step) mark(best->sequence, so_far);
}

}  // namespace hpo
