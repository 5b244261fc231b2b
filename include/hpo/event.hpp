// The events of a study. The engine stores each event before it acts on it. The state of a study follows from its
// events alone, so that it is resumed by replaying them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "hpo/trial.hpp"

namespace hpo {

/// The way a session ended.
enum class SessionEnd {
    none,         ///< the session has not ended, or an earlier version of hpo has stored its end
    finished,     ///< no trial is left to run
    out_of_time,  ///< the time budget is used up
    interrupted,  ///< the user, or the end of the terminal, has ended it
    at_limit,     ///< the batch system is about to end its job
    failed
};

inline constexpr std::array<std::string_view, 6> session_end_names{"none",        "finished", "out_of_time",
                                                                   "interrupted", "at_limit", "failed"};

constexpr std::string_view to_text(SessionEnd end) { return session_end_names[static_cast<std::size_t>(end)]; }

/// The state of the Git repository in which trials run.
struct CodeState {
    std::string commit;   ///< empty: no repository, or a session of hpo 0.2
    std::string branch;   ///< empty: none
    std::string changed;  ///< files that differ from the commit, as lines of `git status --porcelain`
};

namespace event {

struct SessionStarted {  ///< a process has begun to run the study
    std::string host;
    std::int64_t pid = 0;
    std::string version;
    CodeState code{};
};
struct SessionEnded {    ///< a session has ended in an orderly way; none is stored if it was killed
    double seconds = 0;  ///< duration of the session
    std::string reason;  ///< why the study or the session ended, for users
    SessionEnd end = SessionEnd::none;
};
struct Proposed {  ///< a trial has been created; it is queued
    std::int64_t trial = 0;
    Point point;
    Params params;
    std::int64_t repeat_of = 0;  ///< as in TrialRecord
};
struct Launched {  ///< an attempt has been sent to a worker
    std::int64_t trial = 0;
    std::int64_t attempt = 0;
    std::string where;
    Allocation allocation;
};
struct Reported {  ///< a trial has reported a step, which replaces its steps from `report.step` on
    std::int64_t trial = 0;
    std::int64_t attempt = 0;
    Report report;
};
struct Paused {  ///< a trial has paused at a rung
    std::int64_t trial = 0;
    std::int64_t attempt = 0;
    std::string rule;
    std::string reason;
};
struct Spared {  ///< a rule would have paused a trial, which goes on, since its restart would cost more than its rest
    std::int64_t trial = 0;
    std::int64_t attempt = 0;
    std::string rule;
    std::string reason;
};
struct Requeued {  ///< a trial is queued again: for a retry, after a promotion, or since its attempt does not count
    std::int64_t trial = 0;
    std::int64_t attempt = 0;
    Outcome outcome = Outcome::lost;
    bool charged = false;  ///< true if the attempt counts against the trial's retries
    std::string reason;
};
struct Finished {  ///< a trial has ended; the event is on the disk before the user sees it
    std::int64_t trial = 0;
    std::int64_t attempt = 0;
    TrialState state = TrialState::complete;
    std::string rule;
    std::string reason;
};
struct Measured {  ///< the peak memory of a trial has increased; cores are not measured
    std::int64_t trial = 0;
    std::int64_t attempt = 0;
    Footprint peak{0, 0, 0};
};

struct Closing {  ///< a script has reported final metrics, before or after the trial's end
    std::int64_t trial = 0;
    std::int64_t attempt = 0;
    Metrics values;
};

}  // namespace event

using Event =
    std::variant<event::SessionStarted, event::SessionEnded, event::Proposed, event::Launched, event::Reported,
                 event::Paused, event::Requeued, event::Finished, event::Measured, event::Closing, event::Spared>;

/// Returns the number of the trial that an event is about, or 0 for an event of the study.
inline std::int64_t trial_of(const Event& event) {
    return std::visit(
        [](const auto& e) -> std::int64_t {
            if constexpr (requires { e.trial; })
                return e.trial;
            else
                return 0;
        },
        event);
}

/// The state of a trial after a step, for readers that skip the steps before it.
struct SoFar {
    std::optional<double> value;  ///< of the objective
    std::int64_t best_step = 0;
    std::int64_t trained = 0;
    StartUps starts{};

    static SoFar of(const TrialRecord& trial) { return {trial.value, trial.best_step, trial.trained, trial.starts}; }
};

/// An event in the store.
struct StoredEvent {
    std::int64_t sequence = 0;  ///< 1, 2, 3, ... over all events of the study
    double time = 0;            ///< seconds since the epoch
    Event event;
    std::optional<SoFar> so_far = {};  ///< present for a step before which other steps were left out
};

/// The parts of trials that a record has. A viewer of 100,000 trials reads only the parts that it shows.
enum class TrialParts {
    all,
    shown,               ///< all but the point, which only the search needs
    without_parameters,  ///< the same without the parameters
    listed,              ///< state, value, parameters, reason, and the best and last step
    standing             ///< state, value and reason; these rank and count a trial of one objective
};

/// The state of a study after its events so far.
struct StudyRecord {
    std::deque<TrialRecord> trials;     ///< trial n at index n - 1. A vector would take twice the memory when it grows.
    double seconds = 0;                 ///< total duration of past sessions; a killed one counts up to its last event
    std::int64_t sequence = 0;          ///< of the last event applied
    bool held = false;                  ///< true if a session has started and not ended; it may have been killed
    double held_since = 0;              ///< start of the last session, in seconds since the epoch
    double last_time = 0;               ///< of the last event applied, in seconds since the epoch
    std::string end_reason;             ///< of the last session that ended
    SessionEnd end = SessionEnd::none;  ///< likewise
    bool thins = false;                 ///< true if trials are thinned when they end
    TrialParts parts = TrialParts::all;  ///< others may be absent
    std::int64_t summarized = 0;  ///< last event in the store's summary from which the record was read; 0 if none
    InCommon in_common{};

    /// Returns the duration of the study in seconds, over all its sessions and up to the last event.
    [[nodiscard]] double elapsed() const { return seconds + (held ? std::max(0.0, last_time - held_since) : 0); }
    [[nodiscard]] TrialRecord& trial(std::int64_t number) { return trials.at(static_cast<std::size_t>(number) - 1); }
    [[nodiscard]] const TrialRecord& trial(std::int64_t number) const {
        return trials.at(static_cast<std::size_t>(number) - 1);
    }
};

/// Updates `value` and `best_step` of a trial for one more step. Ignores missing and non-finite metrics.
inline void score_step(TrialRecord& trial, const Report& report, const Objective& objective) {
    const auto found = report.metrics.find(objective.metric);
    if (found == report.metrics.end() || !std::isfinite(found->second)) return;
    if (objective.at == Objective::At::best && trial.value && !better(objective.direction, found->second, *trial.value))
        return;
    trial.value = found->second;
    trial.best_step = report.step;
}

/// Recomputes `value` and `best_step` of a trial from its curve.
inline void score(TrialRecord& trial, const Objective& objective) {
    trial.value.reset();
    trial.best_step = 0;
    for (const Report& report : trial.curve) score_step(trial, report, objective);
}

/// Adds a seed that counts to the means of its configuration's first trial.
inline void add_seed(TrialRecord& first, const TrialRecord& seed, const Objective& objective) {
    std::vector<std::string> others;
    for (const Goal& goal : objective.further) others.push_back(goal.metric);
    for (const Constraint& constraint : objective.constraints) others.push_back(constraint.metric);
    if (first.seeds.empty()) first.seeds.push_back(*first.value);
    const auto before = static_cast<double>(first.seeds.size());
    for (const std::string& metric : others) {
        const auto mean = metric_that_counts(first, metric), one = metric_that_counts(seed, metric);
        if (mean && one) first.means[metric] = (*mean * before + *one) / (before + 1);
    }
    first.seeds.push_back(*seed.value);
    double sum = 0;
    for (const double value : first.seeds) sum += value;
    first.value = sum / (before + 1);
}

/// Applies one event. Throws std::out_of_range if the event names an unknown trial, which the store refuses to append.
inline void apply(StudyRecord& study, const StoredEvent& stored, const Objective& objective) {
    const double time = stored.time;
    std::visit(Overloaded{
                   [&](const event::SessionStarted&) {
                       if (study.held) study.seconds += std::max(0.0, study.last_time - study.held_since);
                       study.held = true;
                       study.held_since = time;
                       // Trials that the last session left running have lost their workers.
                       for (TrialRecord& trial : study.trials)
                           if (trial.state == TrialState::running)
                               trial.state = TrialState::queued, trial.where.clear();
                   },
                   [&](const event::SessionEnded& e) {
                       study.held = false;
                       study.seconds += e.seconds;
                       study.end_reason = e.reason;
                       study.end = e.end;
                   },
                   [&](const event::Proposed& e) {
                       TrialRecord trial;
                       trial.number = e.trial;
                       trial.point = e.point;
                       trial.params = e.params;
                       trial.queued_at = time;
                       trial.repeat_of = e.repeat_of;
                       if (e.repeat_of != 0 && study.trial(e.repeat_of).repeat_of != 0)
                           throw std::out_of_range("a trial repeats a repeat");
                       study.in_common.share(trial);
                       study.trials.push_back(std::move(trial));
                   },
                   [&](const event::Launched& e) {
                       TrialRecord& trial = study.trial(e.trial);
                       trial.state = TrialState::running;
                       trial.attempt = e.attempt;
                       trial.where = e.where;
                       trial.allocation = e.allocation;
                       if (trial.started_at == 0) trial.started_at = time;
                       trial.awaited_since = time - e.allocation.start;
                   },
                   [&](const event::Reported& e) {
                       TrialRecord& trial = study.trial(e.trial);
                       const std::size_t before = trial.curve.size();
                       while (trial.steps() >= e.report.step && !trial.curve.empty()) trial.curve.pop_back();
                       const bool is_next_step = trial.curve.size() == before;
                       const std::int64_t trained = e.report.step - trial.steps();
                       trial.trained += trained;
                       if (const double since = std::exchange(trial.awaited_since, 0); since != 0)
                           trial.starts.add({std::max(0.0, time - since), trained});
                       trial.curve.push_back(e.report);
                       // Only a repeated step needs the whole curve, so that a step of a long trial costs no more.
                       is_next_step ? score_step(trial, e.report, objective) : score(trial, objective);
                       if (stored.so_far) {
                           trial.value = stored.so_far->value;
                           trial.best_step = stored.so_far->best_step;
                           trial.trained = stored.so_far->trained;
                           trial.starts = stored.so_far->starts;
                       }
                   },
                   [&](const event::Paused& e) {
                       TrialRecord& trial = study.trial(e.trial);
                       trial.state = TrialState::paused;
                       trial.where.clear();
                       trial.rule = e.rule;
                       trial.reason = e.reason;
                   },
                   [&](const event::Requeued& e) {
                       TrialRecord& trial = study.trial(e.trial);
                       trial.state = TrialState::queued;
                       trial.where.clear();
                       trial.rule.clear();
                       trial.reason = e.reason;
                       trial.failures += e.charged ? 1 : 0;
                       trial.memory_deaths += e.outcome == Outcome::out_of_memory ? 1 : 0;
                       trial.requeued = e.outcome;
                   },
                   [&](const event::Finished& e) {
                       TrialRecord& trial = study.trial(e.trial);
                       const bool amends = is_final(trial.state);
                       trial.state = e.state;
                       trial.where.clear();
                       trial.rule = e.rule;
                       trial.reason = e.reason;
                       trial.ended_at = time;
                       if (trial.repeat_of != 0 && !amends && counts_as_seed(trial))
                           add_seed(study.trial(trial.repeat_of), trial, objective);
                       if (study.thins) {
                           thin(trial);
                           study.in_common.share(trial);
                       }
                   },
                   [&](const event::Measured& e) {
                       Footprint& peak = study.trial(e.trial).peak;
                       peak.device_bytes = std::max(peak.device_bytes, e.peak.device_bytes);
                       peak.host_bytes = std::max(peak.host_bytes, e.peak.host_bytes);
                   },
                   [&](const event::Closing& e) { study.trial(e.trial).closing = e.values; },
                   [&](const event::Spared& e) { study.trial(e.trial).spared = true; },
               },
               stored.event);
    study.sequence = stored.sequence;
    study.last_time = time;
}

}  // namespace hpo
