// Trials: their states, their reports, and their record.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/footprint.hpp"
#include "hpo/maybe.hpp"
#include "hpo/median.hpp"
#include "hpo/named.hpp"
#include "hpo/shared_value.hpp"
#include "hpo/space.hpp"

namespace hpo {

enum class TrialState { queued, running, paused, complete, stopped, diverged, failed };

inline constexpr std::array<std::string_view, 7> trial_state_names{"queued",  "running",  "paused", "complete",
                                                                   "stopped", "diverged", "failed"};

constexpr std::string_view to_text(TrialState state) { return trial_state_names[static_cast<std::size_t>(state)]; }

constexpr bool is_final(TrialState state) { return state >= TrialState::complete; }

/// Numbers, finite or not, by name: loss, val_loss, val_accuracy, ... A script may use any names.
using Metrics = Named<double>;

/// Returns the name of a metric's standard error, such as val_accuracy_se of a mean over folds. The search takes it for
/// the deviation of the objective's noise.
inline std::string standard_error_of(const std::string& metric) { return metric + "_se"; }
inline bool is_standard_error(std::string_view metric) { return metric.ends_with("_se"); }

/// The report of one step, counted from 1. A quantity that was not measured is absent, never zero.
struct Report {
    std::int64_t step = 0;
    Metrics metrics;                      ///< loss, val_loss, val_accuracy (fractions of 1)
    Maybe<std::int64_t> iteration;        ///< optimizer updates so far
    Maybe<double> seconds;                ///< of training so far, over all attempts, by the worker's clock
    Maybe<double> iterations_per_second;  ///< last window
    Maybe<double> iterations_per_second_overall;
    Maybe<double> samples_per_second;  ///< last window
    Maybe<double> samples_per_second_overall;
    Maybe<double> gradient_norm;            ///< mean over the step
    Maybe<double> learning_rate;            ///< at the end of the step
    Maybe<double> loss_deviation;           ///< standard deviation of the loss over the last 100 iterations
    Maybe<double> loss_trend;               ///< slope of a line through them, per iteration
    Maybe<std::int64_t> micro_batch;        ///< samples; present if scarce memory made it smaller than configured
    Maybe<double> communication;            ///< of several ranks: share of the step's time, 0 to 1, see protocol.md
    Maybe<std::int64_t> peak_bytes;         ///< host memory
    Maybe<std::int64_t> peak_device_bytes;  ///< device memory
    std::string warning;                    ///< about unstable training; empty if there is none
};

/// The way in which an attempt ended, according to the worker or the engine.
enum class Outcome { complete, stopped, paused, diverged, failed, out_of_memory, lost, interrupted };

inline constexpr std::array<std::string_view, 8> outcome_names{"complete", "stopped",       "paused", "diverged",
                                                               "failed",   "out_of_memory", "lost",   "interrupted"};

constexpr std::string_view to_text(Outcome outcome) { return outcome_names[static_cast<std::size_t>(outcome)]; }

/// The prediction for an attempt at its launch, from the calibration of the device on which it trains.
struct StepForecast {
    std::string device;       ///< as calibrations name it: "cpu", "cuda 0"; empty if nothing was predicted
    double uncorrected = 0;   ///< seconds of a step
    double factor = 1;        ///< by which measured trials correct the prediction
    std::int64_t trials = 0;  ///< number of trials from which the factor follows
    std::int64_t done = 0;    ///< steps that earlier attempts had done
    double trained = 0;       ///< seconds for which they had trained
    std::string why;          ///< why the trial was given this device, for users; empty if there was no choice

    [[nodiscard]] double seconds() const { return uncorrected * factor; }  ///< predicted, of a step
    friend bool operator==(const StepForecast&, const StepForecast&) = default;
};

/// The resources that an attempt was given at its launch. They are stored, since they depend on measurements and differ
/// between runs.
struct Allocation {
    Footprint footprint;             ///< reserved
    std::string device;              ///< UUID; empty if the trial computes on the host
    bool alone = false;              ///< true if nothing else could run at the same time
    std::int64_t micro_batches = 0;  ///< per update; 0: as configured
    std::string environment;         ///< variables that hpo set for a script, one line each, for users
    StepForecast forecast{};
    double start = 0;    ///< seconds that the worker took to start, of its first attempt; 0 for later ones
    std::string host{};  ///< its name; empty where the session has one host

    friend bool operator==(const Allocation&, const Allocation&) = default;
};

/// The time from the start of an attempt's worker, or the attempt's launch in a running one, to its first report.
struct StartUp {
    double seconds = 0;
    std::int64_t steps = 0;  ///< steps trained in this time; 0 if nothing was measured

    /// Returns the seconds before the first step, if a step takes `pace` seconds.
    [[nodiscard]] double before_steps(double pace) const {
        return std::max(0.0, seconds - pace * static_cast<double>(steps));
    }
    friend bool operator==(const StartUp&, const StartUp&) = default;
};

/// The start-ups of a trial's attempts that reported a step.
struct StartUps {
    StartUp last;             ///< of the last attempt
    StartUp again;            ///< sum over all attempts but the first
    std::int64_t number = 0;  ///< of attempts

    void add(const StartUp& start) {
        if (number++ > 0) again.seconds += start.seconds, again.steps += start.steps;
        last = start;
    }
    [[nodiscard]] std::int64_t restarts() const { return std::max<std::int64_t>(0, number - 1); }
    friend bool operator==(const StartUps&, const StartUps&) = default;
};

/// The state of one trial after its events so far (event.hpp).
struct TrialRecord {
    std::int64_t number = 0;  ///< from 1, in the order of proposal
    TrialState state = TrialState::queued;
    std::int64_t attempt = 0;   ///< number of the last attempt; 0 if none has begun
    std::int64_t failures = 0;  ///< number of attempts charged to the trial
    Point point;
    Params params;                ///< the active parameters of the space
    std::vector<Report> curve;    ///< one report per step in ascending order; if thinned, only the best and the last
    bool thinned = false;         ///< true if only the store has the other steps
    Maybe<double> pace;           ///< seconds_between_steps() of a thinned trial
    std::int64_t trained = 0;     ///< number of steps of all attempts; a repeated step counts again
    bool spared = false;          ///< true if a rule would have paused it, but for the cost of its restart
    StartUps starts{};            ///< of the attempts
    double awaited_since = 0;     ///< start of an attempt that has not reported yet; 0 if there is none
    std::optional<double> value;  ///< of the objective, so far
    std::int64_t best_step = 0;   ///< step at which `value` was reached; 0 if there is none yet
    std::string rule;             ///< name of the rule that stopped or paused the trial, or "user"
    std::string reason;           ///< of the end, the pause or the last attempt, for users
    std::string where;            ///< device of the running attempt ("cpu 0", "gpu 1"); empty if it is not running
    SharedValue<Allocation> allocation;  ///< of the last attempt
    Footprint peak{0, 0, 0};             ///< measured peak over all attempts; 0 if not measured
    Metrics closing;                     ///< final metrics that a script reports at its end, such as test_accuracy
    std::int64_t memory_deaths = 0;      ///< number of attempts that ran out of memory
    std::optional<Outcome> requeued;     ///< outcome of the last attempt after which the trial was queued again
    std::int64_t log = 0;                ///< last attempt with a log; 0 if there is none
    double queued_at = 0;                ///< seconds since the epoch
    double started_at = 0;               ///< of the first attempt; 0 if it has not started
    double ended_at = 0;                 ///< 0 if it has not ended
    std::int64_t repeat_of = 0;          ///< the trial whose configuration this one trains with another seed; 0 if none
    /// Values of the configuration's seeds that count (counts_as_seed), its own first. Empty with fewer than two. If
    /// not empty, `value` is their mean.
    std::vector<double> seeds;
    Metrics means;  ///< with `seeds`: means of the further objectives and of the metrics of constraints

    [[nodiscard]] std::int64_t steps() const { return curve.empty() ? 0 : curve.back().step; }
};

/// Returns the trial's value with its own seed alone.
inline std::optional<double> own_value(const TrialRecord& trial) {
    return trial.seeds.empty() ? trial.value : std::optional(trial.seeds.front());
}

/// Returns the standard deviation of a configuration's value from seed to seed, or nothing with fewer than two seeds.
inline std::optional<double> deviation_of_seeds(const TrialRecord& trial) {
    if (trial.seeds.size() < 2) return std::nullopt;
    double squares = 0;
    for (const double value : trial.seeds) squares += (value - *trial.value) * (value - *trial.value);
    return std::sqrt(squares / static_cast<double>(trial.seeds.size() - 1));
}

/// Takes the place of a rule's name for trials that the user has stopped.
inline constexpr const char* by_user = "user";

/// Returns true for a trial that the user has stopped and that ends with its next report: it is paused by the user.
inline bool is_stopping(const TrialRecord& trial) { return trial.state == TrialState::paused && trial.rule == by_user; }

/// Returns true if an ended trial counts in the mean of its configuration: it trained to its end, or a rule saw from
/// its own curve that it had come to it. Only these rules judge further seeds (rules.hpp).
inline bool counts_as_seed(const TrialRecord& trial) {
    return trial.value &&
           (trial.state == TrialState::complete || (trial.state == TrialState::stopped && trial.rule != by_user));
}

/// Returns the mean seconds of training of a step in the last attempt, or nothing if its worker did not measure them.
inline std::optional<double> measured_step(const TrialRecord& trial) {
    if (trial.curve.empty() || !trial.curve.back().seconds) return std::nullopt;
    const StepForecast& forecast = trial.allocation->forecast;
    const std::int64_t steps = trial.curve.back().step - forecast.done;
    const double seconds = *trial.curve.back().seconds - forecast.trained;
    if (steps < 1 || !(seconds > 0)) return std::nullopt;
    return seconds / static_cast<double>(steps);
}

/// Returns the median time between a trial's last steps, or nothing if no two steps were timed.
inline std::optional<double> seconds_between_steps(const TrialRecord& trial) {
    constexpr std::size_t max_intervals = 64;
    if (trial.pace) return trial.pace;
    std::vector<double> intervals;
    for (std::size_t i = trial.curve.size(); i-- > 1 && intervals.size() < max_intervals;) {
        const Report &current = trial.curve[i], &previous = trial.curve[i - 1];
        if (!current.seconds || !previous.seconds || !std::isfinite(*current.seconds) ||
            *current.seconds < *previous.seconds)
            continue;
        intervals.push_back((*current.seconds - *previous.seconds) / static_cast<double>(current.step - previous.step));
    }
    if (intervals.empty()) return std::nullopt;
    return upper_median(std::move(intervals));
}

/// Returns the reports of the best step and of the last step, or fewer if they are the same or do not exist.
inline std::vector<const Report*> best_and_last_reports(const TrialRecord& trial) {
    std::vector<const Report*> reports;
    if (trial.curve.empty()) return reports;
    const auto best = std::lower_bound(trial.curve.begin(), trial.curve.end(), trial.best_step,
                                       [](const Report& report, std::int64_t step) { return report.step < step; });
    if (best != trial.curve.end() && best->step == trial.best_step && &*best != &trial.curve.back())
        reports.push_back(&*best);
    reports.push_back(&trial.curve.back());
    return reports;
}

/// Returns a metric at the step that counts for the objective, or nothing if that step does not have it. For a
/// configuration with several seeds, further objectives and metrics of constraints are means.
inline std::optional<double> metric_that_counts(const TrialRecord& trial, const std::string& metric) {
    if (const auto mean = trial.means.find(metric); mean != trial.means.end()) return mean->second;
    const auto step = std::lower_bound(trial.curve.begin(), trial.curve.end(), trial.best_step,
                                       [](const Report& report, std::int64_t at) { return report.step < at; });
    if (step == trial.curve.end() || step->step != trial.best_step) return std::nullopt;
    const auto found = step->metrics.find(metric);
    if (found == step->metrics.end() || !std::isfinite(found->second)) return std::nullopt;
    return found->second;
}

/// Drops all steps of an ended trial but the best and the last one, so that a study of 100,000 trials fits in memory.
inline void thin(TrialRecord& trial) {
    if (trial.thinned) return;
    trial.pace = seconds_between_steps(trial);
    const std::vector<const Report*> reports = best_and_last_reports(trial);
    std::vector<Report> kept;
    kept.reserve(reports.size());
    for (const Report* report : reports) kept.push_back(*report);
    trial.curve = std::move(kept);
    trial.thinned = true;
}

/// Values that many trials of a study have in common and keep once.
class InCommon {
   public:
    /// Call it when a trial has its parameters, and when it has been thinned.
    void share(TrialRecord& trial) {
        trial.params.share_names(names_);
        if (!trial.params.empty()) params_ = trial.params.shared_names();
        for (Report& report : trial.curve) report.metrics.share_names(names_);
        if (!trial.curve.empty()) metrics_ = trial.curve.back().metrics.shared_names();
        if (trial.attempt == 0) return;
        if (&*trial.allocation == &*allocation_) return;
        if (*trial.allocation == *allocation_)
            trial.allocation = allocation_;
        else
            allocation_ = trial.allocation;
    }

    /// Return the names of the last trial's parameters and metrics, which the next one probably has as well.
    [[nodiscard]] const std::shared_ptr<Names>& names_of_params() const { return params_; }
    [[nodiscard]] const std::shared_ptr<Names>& names_of_metrics() const { return metrics_; }

   private:
    std::vector<std::shared_ptr<Names>> names_;
    std::shared_ptr<Names> params_, metrics_;  ///< of the last trial
    SharedValue<Allocation> allocation_;       ///< of the last trial
};

}  // namespace hpo
