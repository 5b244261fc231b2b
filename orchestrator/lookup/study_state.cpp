#include "orchestrator/lookup/study_state.hpp"

#include <algorithm>

#include "hpo/open_trials.hpp"
#include "hpo/standing.hpp"

namespace hpo {

std::string_view state_of(const StudySnapshot& snapshot) {
    const auto& trials = snapshot.record.trials;
    const auto ended = count_ended(snapshot.record);
    // A study may finish before its budget of trials is used up: when its space or its patience is exhausted.
    const bool all_ended = !trials.empty() && ended == static_cast<std::int64_t>(trials.size());
    if (snapshot.holder) return "running";
    // A program that searches by itself is free to stop at any trial: that its trials have ended says nothing.
    const SessionEnd end = snapshot.record.end;
    const bool out_of_time = end == SessionEnd::out_of_time && !snapshot.record.held && ended > 0;
    const bool over = out_of_time || (snapshot.study.has_worker() ? all_ended : end == SessionEnd::finished);
    const bool failed = std::none_of(trials.begin(), trials.end(), [](const TrialRecord& trial) {
        return is_final(trial.state) && trial.state != TrialState::failed && trial.state != TrialState::diverged;
    });
    // A session that fails leaves queued trials and may have ended none. Those with values go on in the next session.
    const bool fruitless = ended > 0 || std::none_of(trials.begin(), trials.end(),
                                                     [](const TrialRecord& trial) { return trial.value.has_value(); });
    if (end == SessionEnd::failed && !snapshot.record.held && failed && fruitless) return "failed";
    if (ended < snapshot.study.budget.trials && !over) return "interrupted";
    return failed ? "failed" : "finished";
}

std::string ended_of_budget(const StudySnapshot& snapshot) {
    const std::string ended = std::to_string(count_ended(snapshot.record));
    const Budget& budget = snapshot.study.budget;
    // The budget may have been lowered below the number of trials.
    const auto trials = std::max(budget.trials, static_cast<std::int64_t>(snapshot.record.trials.size()));
    return is_open_ended(budget) ? ended : ended + '/' + std::to_string(trials);
}

std::string metrics_text(const Objective& objective) {
    std::string text = objective.metric;
    for (const Goal& goal : objective.further) text += ", " + goal.metric;
    return text;
}

std::string front_size(const StudySnapshot& snapshot) {
    return "front of " + std::to_string(front_of(snapshot.record, snapshot.study.objective).size());
}

}  // namespace hpo
