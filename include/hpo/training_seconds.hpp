// The time that a trial has trained.
#pragma once

#include <algorithm>
#include <optional>

#include "hpo/trial.hpp"

namespace hpo {

/// Returns the seconds of a trial's training so far, or nothing if its worker did not measure them. A script that is
/// run as it is may report before its work is done: its only attempt counts up to its end. So do the attempts of a
/// trial that has failed without a report, such as one that hung.
inline std::optional<double> training_seconds(const TrialRecord& trial) {
    if (trial.state == TrialState::failed && trial.curve.empty() && trial.started_at > 0)
        return std::max(0.0, trial.ended_at - trial.started_at);
    if (trial.curve.empty()) return std::nullopt;
    // A script may tell its value at its end alone. A trial of a program that asks for it reserves nothing, and may
    // have waited for its turn.
    const bool allocated = trial.allocation->alone || trial.allocation->footprint.host_bytes > 0;
    const bool told_once = trial.curve.size() == 1 && trial.attempt == 1 && allocated;
    if (!trial.curve.back().seconds && told_once && trial.state == TrialState::complete)
        return std::max(0.0, trial.ended_at - trial.started_at);
    if (!trial.curve.back().seconds) return std::nullopt;
    const Report& last = trial.curve.back();
    const bool measures_itself = last.iteration.has_value();
    if (measures_itself || trial.attempt > 1) return last.seconds;
    return std::max(*last.seconds, trial.ended_at - trial.started_at);
}

/// Returns the seconds that a trial took, for readers: those of its training, and where each attempt but the last was
/// charged to it, all from its first start to its end, since an attempt that hung has trained for seconds and taken an
/// hour. A trial that was interrupted or paused waited in between.
inline std::optional<double> seconds_taken(const TrialRecord& trial) {
    const auto trained = training_seconds(trial);
    const bool only_retried = trial.attempt > 1 && trial.failures == trial.attempt - 1;
    if (!trained || !only_retried) return trained;
    return std::max(*trained, trial.ended_at - trial.started_at);
}

}  // namespace hpo
