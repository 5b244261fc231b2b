// Trials: their states, what they report, and the record that the events of a study add up to.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/footprint.hpp"
#include "hpo/space.hpp"

namespace hpo {

enum class TrialState { queued, running, paused, complete, stopped, diverged, failed };

inline constexpr std::array<std::string_view, 7> trial_state_names{"queued",  "running",  "paused", "complete",
                                                                   "stopped", "diverged", "failed"};

constexpr std::string_view to_text(TrialState state) { return trial_state_names[static_cast<std::size_t>(state)]; }

constexpr bool is_final(TrialState state) { return state >= TrialState::complete; }

/// Names to finite or non-finite numbers: loss, val_loss, val_accuracy, ... A script's own names are free.
using Metrics = std::map<std::string, double>;

/// One step of a trial, counted from 1. What was not measured is absent, never zero.
struct Report {
    std::int64_t step = 0;
    Metrics metrics;                              ///< loss, val_loss, val_accuracy (fractions of 1)
    std::optional<std::int64_t> iteration;        ///< optimizer updates so far
    std::optional<double> seconds;                ///< of training so far, over all attempts, by the worker's clock
    std::optional<double> iterations_per_second;  ///< last window
    std::optional<double> iterations_per_second_overall;
    std::optional<double> samples_per_second;  ///< last window
    std::optional<double> samples_per_second_overall;
    std::optional<double> gradient_norm;      ///< mean over the step
    std::optional<double> learning_rate;      ///< at the end of the step
    std::optional<double> loss_deviation;     ///< standard deviation of the loss over the last 100 iterations
    std::optional<double> loss_trend;         ///< slope of a line through them, per iteration
    std::optional<std::int64_t> micro_batch;  ///< samples; present where short memory made it smaller than configured
    std::optional<std::int64_t> peak_bytes;   ///< host memory
    std::optional<std::int64_t> peak_device_bytes;  ///< device memory
    std::string warning;                            ///< describes unstable training; empty: none
};

/// How an attempt ended, according to the worker or the engine.
enum class Outcome { complete, stopped, paused, diverged, failed, out_of_memory, lost, interrupted };

inline constexpr std::array<std::string_view, 8> outcome_names{"complete", "stopped",       "paused", "diverged",
                                                               "failed",   "out_of_memory", "lost",   "interrupted"};

constexpr std::string_view to_text(Outcome outcome) { return outcome_names[static_cast<std::size_t>(outcome)]; }

/// What an attempt was given at its launch. It is stored, since it depends on measurements and differs between runs.
struct Allocation {
    Footprint footprint;             ///< reserved
    std::string device;              ///< UUID; empty: the host alone
    bool alone = false;              ///< nothing else was allowed to run at the same time
    std::int64_t micro_batches = 0;  ///< of one update; 0: as configured
    std::string environment;         ///< what hpo set for a script, in lines for people
};

/// All that is known of one trial: the fold of its events (event.hpp).
struct TrialRecord {
    std::int64_t number = 0;  ///< from 1, in the order of proposal
    TrialState state = TrialState::queued;
    std::int64_t attempt = 0;   ///< attempts begun
    std::int64_t failures = 0;  ///< attempts charged to the trial
    Point point;
    Params params;                    ///< the space's active parameters alone
    std::vector<Report> curve;        ///< by step, each step once; thinned: the best and the last step alone
    bool thinned = false;             ///< the other steps are in the store alone
    std::vector<double> losses;       ///< thinned: "loss" over the steps, condensed, for a small picture
    std::int64_t trained = 0;         ///< steps taken by all attempts: one that is taken again counts again
    std::optional<double> value;      ///< of the objective, so far
    std::int64_t best_step = 0;       ///< where `value` was reached; 0: nowhere yet
    std::string rule;                 ///< of stopped trials: the rule's name, or "user"
    std::string reason;               ///< for the end, the pause or the last attempt, for people
    std::string where;                ///< where the running attempt is ("cpu 0", "gpu 1"); empty: it is not running
    Allocation allocation;            ///< of the last attempt
    Footprint peak{0, 0, 0};          ///< most that any attempt was seen to take; 0: not measured
    Metrics closing;                  ///< final numbers that its script gave with the end: test_accuracy, ...
    std::int64_t memory_deaths = 0;   ///< attempts that ended for want of memory
    std::optional<Outcome> requeued;  ///< how the last attempt ended that led to another one
    std::int64_t log = 0;             ///< last attempt with a log; 0: none
    double queued_at = 0;             ///< seconds since the epoch
    double started_at = 0;            ///< of the first attempt; 0: not yet
    double ended_at = 0;              ///< 0: not yet

    [[nodiscard]] std::int64_t steps() const { return curve.empty() ? 0 : curve.back().step; }
};

/// "loss" over the steps, condensed to so many values at most, for a small picture: means of equal parts of the curve.
/// Of a long curve only some hundred steps are looked at.
inline std::vector<double> condensed_losses(const TrialRecord& trial, std::size_t most = 16) {
    if (trial.thinned) return trial.losses;
    const std::size_t stride = 1 + trial.curve.size() / 512;
    std::vector<double> values;
    for (std::size_t i = 0; i < trial.curve.size(); i += stride)
        if (const auto found = trial.curve[i].metrics.find("loss"); found != trial.curve[i].metrics.end())
            values.push_back(found->second);
    const std::size_t count = std::min(values.size(), most);
    std::vector<double> means;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t from = i * values.size() / count, to = (i + 1) * values.size() / count;
        double sum = 0;
        for (std::size_t at = from; at < to; ++at) sum += values[at];
        means.push_back(sum / static_cast<double>(to - from));
    }
    return means;
}

/// The report of the best step and the last one; fewer when they are the same, or there are none.
inline std::vector<const Report*> telling_reports(const TrialRecord& trial) {
    std::vector<const Report*> reports;
    if (trial.curve.empty()) return reports;
    const auto best = std::lower_bound(trial.curve.begin(), trial.curve.end(), trial.best_step,
                                       [](const Report& report, std::int64_t step) { return report.step < step; });
    if (best != trial.curve.end() && best->step == trial.best_step && &*best != &trial.curve.back())
        reports.push_back(&*best);
    reports.push_back(&trial.curve.back());
    return reports;
}

/// Lets go of the steps that nobody asks an ended trial for: a study of 100,000 trials fits the memory.
inline void thin(TrialRecord& trial) {
    if (trial.thinned) return;
    trial.losses = condensed_losses(trial);
    std::vector<Report> kept;
    for (const Report* report : telling_reports(trial)) kept.push_back(*report);
    trial.curve = std::move(kept);
    trial.thinned = true;
}

}  // namespace hpo
