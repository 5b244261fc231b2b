#include "orchestrator/view/summary.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hpo/open_trials.hpp"
#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/simulation/pace.hpp"
#include "orchestrator/stopping/restart.hpp"

namespace hpo::view {

Moment moment_of(const StudyRecord& record, double now, bool held) {
    Moment moment{record.seconds, 1, held};
    if (record.held) moment.seconds += std::max(0.0, (held ? now : record.last_time) - record.held_since);
    const auto running = count_states(record)[static_cast<std::size_t>(TrialState::running)];
    moment.parallel = static_cast<int>(std::max<std::int64_t>(1, running));
    return moment;
}

std::optional<double> predicted_end(const Moment& moment, const TrialRecord& trial) {
    const auto end = trial.state == TrialState::running ? moment.ends.find(trial.number) : moment.ends.end();
    return end == moment.ends.end() ? std::nullopt : std::optional(end->second);
}

std::int64_t count_started(const StudyRecord& record) {
    return std::count_if(record.trials.begin(), record.trials.end(),
                         [](const TrialRecord& trial) { return trial.attempt > 0 || is_final(trial.state); });
}

std::string count_text(const Study& study, const StudyRecord& record) {
    const std::int64_t started = count_started(record);
    const std::string text = std::to_string(started) + " started, " + std::to_string(count_ended(record)) + " finished";
    if (is_open_ended(study.budget)) return text;
    return text + " of " + std::to_string(std::max<std::int64_t>(study.budget.trials, started));
}

std::vector<std::string> judged_metrics(const Objective& objective) {
    std::vector<std::string> names;
    for (const Goal& goal : objective.further) names.push_back(goal.metric);
    for (const Constraint& constraint : objective.constraints)
        if (constraint.metric != objective.metric &&
            std::find(names.begin(), names.end(), constraint.metric) == names.end())
            names.push_back(constraint.metric);
    return names;
}

std::string front_text(const Study& study, const StudyRecord& record) {
    const Objective& objective = study.objective;
    std::vector<std::vector<double>> losses;
    for (const TrialRecord& trial : record.trials)
        if (auto standing = standing_of(trial, objective); standing && standing->feasible())
            losses.push_back(std::move(standing->losses));
    const std::size_t front = front_of(record, objective).size();
    std::string text = "Pareto front by " + objective.metric;
    for (std::size_t i = 0; i < objective.further.size(); ++i)
        text += (i + 1 == objective.further.size() ? " and " : ", ") + objective.further[i].metric;
    text += ": " + std::to_string(front) + " of " + std::to_string(losses.size()) + " trials";
    std::vector<double> least = losses.front(), most = losses.front();
    for (const auto& point : losses)
        for (std::size_t m = 0; m < point.size(); ++m)
            least[m] = std::min(least[m], point[m]), most[m] = std::max(most[m], point[m]);
    for (std::size_t m = 0; m < least.size(); ++m)
        if (!(most[m] > least[m])) return text;  // a box without extent
    std::vector<std::vector<double>> shares;
    for (const TrialRecord* trial : front_of(record, objective)) {
        shares.push_back(standing_of(*trial, objective)->losses);
        for (std::size_t m = 0; m < least.size(); ++m)
            shares.back()[m] = (shares.back()[m] - least[m]) / (most[m] - least[m]);
    }
    return text + ", hypervolume " + short_number(hypervolume(shares, std::vector<double>(least.size(), 1.0)));
}

std::string broken_text(const TrialRecord& trial, const Objective& objective) {
    std::string text;
    for (const Constraint& constraint : objective.constraints) {
        const auto value = metric_that_counts(trial, constraint.metric);
        if (!value || violation_of(constraint, *value) <= 0) continue;
        const bool above = constraint.max && *value > *constraint.max;
        text += (text.empty() ? "" : ", ") + constraint.metric + " " + short_number(*value) +
                (above ? " is above " : " is below ") + short_number(above ? *constraint.max : *constraint.min);
    }
    return text;
}

std::string constraints_text(const StudyRecord& record, const Objective& objective) {
    if (objective.constraints.empty()) return {};
    std::size_t judged = 0, broken = 0;
    const TrialRecord* nearest = nullptr;
    std::pair<double, double> least;  // of equally near ones, the best
    for (const TrialRecord& trial : record.trials) {
        const auto standing = standing_of(trial, objective);
        if (!standing) continue;
        ++judged;
        if (standing->feasible()) continue;
        ++broken;
        const std::pair distance(standing->violation, standing->losses.front());
        if (!nearest || distance < least) nearest = &trial, least = distance;
    }
    if (judged == 0) return {};
    if (broken < judged)
        return std::to_string(broken) + " of " + std::to_string(judged) + " trials " +
               (broken == 1 ? "breaks" : "break") + " the constraints";
    return "0 of " + counted(judged, "trial keeps", "trials keep") + " the constraints; the nearest is trial " +
           std::to_string(nearest->number) + ": " + broken_text(*nearest, objective);
}

namespace {

/// Returns a trial's samples per second in its last window, as it reports them or computed from its batch size.
std::optional<double> samples_per_second(const Study& study, const TrialRecord& trial, double iterations_per_second) {
    if (trial.curve.back().samples_per_second) return trial.curve.back().samples_per_second;
    for (const Params* params : {&trial.params, &study.fixed})
        if (const auto found = params->find("batch_size"); found != params->end()) {
            if (const auto* whole = std::get_if<std::int64_t>(&found->second))
                return iterations_per_second * static_cast<double>(*whole);
            if (const auto* real = std::get_if<double>(&found->second)) return iterations_per_second * *real;
        }
    return std::nullopt;
}

}  // namespace

std::string total_speed(const Study& study, const StudyRecord& record) {
    double iterations = 0, samples = 0;
    bool any = false, batches_known = true;
    for (const TrialRecord& trial : record.trials) {
        if (trial.state != TrialState::running || trial.curve.empty()) continue;
        const auto speed = trial.curve.back().iterations_per_second;
        if (!speed || !std::isfinite(*speed)) continue;
        const auto trial_samples = samples_per_second(study, trial, *speed);
        any = true;
        iterations += *speed;
        batches_known &= trial_samples.has_value() && std::isfinite(*trial_samples);
        if (batches_known) samples += *trial_samples;
    }
    if (!any) return {};
    if (!batches_known) return short_number(iterations) + " it/s";
    return (samples < 10'000 ? short_number(samples) : short_number(samples / 1000) + "k") + " samples/s";
}

std::optional<Savings> savings(const Study& study, const StudyRecord& record) {
    Savings saved{.timed = true};
    TrialLengths lengths(study);
    for (const TrialRecord& trial : record.trials) lengths.add(trial);
    const auto paces = step_seconds(record);
    for (const TrialRecord& trial : record.trials) {
        if (!is_final(trial.state) || trial.attempt == 0) continue;
        std::int64_t left = 0;
        if (trial.state == TrialState::stopped && !trial.rule.empty() && trial.rule != "user") {
            const auto length = lengths.expected(trial.steps());
            if (!length) return std::nullopt;
            left = std::max<std::int64_t>(0, *length - trial.steps());
            Savings::Rule& rule = saved.rules[trial.rule];
            ++rule.trials;
            rule.epochs += left;
        }
        // Fewer reports than steps save nothing: a program of hpo ask-tell may report every tenth step.
        const std::int64_t repeated = std::max<std::int64_t>(0, trial.trained - trial.steps());
        saved.left += left;
        saved.of += trial.steps() + left;
        saved.repeated += repeated;
        const auto& pace = paces[static_cast<std::size_t>(trial.number - 1)];
        const bool unmeasured = study.script() && trial.attempt > 1 && trial.starts.number == 0;
        saved.restarts += unmeasured ? trial.attempt - 1 : trial.starts.restarts();
        if (trial.steps() > 0 && (!pace || unmeasured)) saved.timed = false;
        if (!pace) continue;
        saved.left_seconds += *pace * static_cast<double>(left);
        saved.again_seconds += *pace * static_cast<double>(repeated) + trial.starts.again.before_steps(*pace);
    }
    return saved;
}

std::string states_text(const StudyRecord& record) {
    const auto counts = count_states(record);
    std::string text;
    for (TrialState state : {TrialState::running, TrialState::complete, TrialState::stopped, TrialState::diverged,
                             TrialState::failed, TrialState::paused, TrialState::queued})
        if (const auto count = counts[static_cast<std::size_t>(state)]; count > 0) {
            if (!text.empty()) text += ", ";
            text += std::to_string(count) + " ";
            text += state == TrialState::stopped ? "stopped early" : to_text(state);
        }
    return text.empty() ? "no trials yet" : text;
}

Style state_style(TrialState state) {
    switch (state) {
        case TrialState::running:
            return Style::accent;
        case TrialState::complete:
            return Style::good;
        case TrialState::diverged:
        case TrialState::failed:
            return Style::bad;
        case TrialState::stopped:
            return Style::notice;
        case TrialState::queued:
        case TrialState::paused:
            return Style::dim;
    }
    return Style::plain;
}

std::string value_text(const Value& value) {
    if (const auto* number = std::get_if<double>(&value)) return trimmed_number(*number);
    return printable(to_text(value));
}

std::string parameters_text(const Params& params) {
    std::string text;
    for (const auto& [name, value] : params)
        text += (text.empty() ? "" : " ") + printable(name) + '=' + value_text(value);
    return text;
}

std::string seeds_text(const TrialRecord& trial) {
    const auto deviation = deviation_of_seeds(trial);
    return deviation ? "mean of " + std::to_string(trial.seeds.size()) + " seeds, +- " + short_number(*deviation) : "";
}

std::string best_text(const TrialRecord& trial, const Study& study) {
    if (!trial.seeds.empty())
        return "new best " + short_number(*trial.value) + " " + study.objective.metric + ", trial " +
               std::to_string(trial.number) + ", " + seeds_text(trial);
    return "new best " + short_number(*trial.value) + " " + study.objective.metric + ", trial " +
           std::to_string(trial.number) + " at " + step_name(study) + " " + std::to_string(trial.best_step);
}

void NewBests::start(const StudyRecord& record) {
    if (const auto* best = best_trial(record, study_.objective)) best_ = best->value;
}

std::string NewBests::line(const StoredEvent& stored, const StudyRecord& record) {
    if (const auto* reported = std::get_if<event::Reported>(&stored.event)) {
        const TrialRecord& trial = record.trial(reported->trial);
        if (trial.best_step != reported->report.step) return {};
        if (!study_.objective.further.empty()) return {};  // a value alone says little of a front
        if (best_ && !better(study_.objective.direction, *trial.value, *best_)) return {};
        if (const auto standing = standing_of(trial, study_.objective); !standing || !standing->feasible()) return {};
        best_ = trial.value;
        owed_ = std::exchange(leads_, trial.number) == trial.number;
        return owed_ ? "" : best_text(trial, study_);
    }
    const auto* paused = std::get_if<event::Paused>(&stored.event);
    const auto* finished = std::get_if<event::Finished>(&stored.event);
    if (finished && record.trial(finished->trial).repeat_of != 0) {  // a mean has changed
        const TrialRecord* best = best_trial(record, study_.objective);
        if (!best) return {};
        best_ = best->value;
        return std::exchange(leads_, best->number) == best->number ? "" : best_text(*best, study_);
    }
    if (finished && finished->trial == leads_ && !may_be_best(record.trial(leads_), study_.objective)) {
        // The best trial failed or diverged after all: another leads, if any does, and values worse than its own may be
        // new.
        const TrialRecord* best = best_trial(record, study_.objective);
        best_ = best ? best->value : std::nullopt;
        leads_ = best ? best->number : 0;
        owed_ = false;
        return best ? best_text(*best, study_) : "";
    }
    if (!owed_ || (paused ? paused->trial : finished ? finished->trial : 0) != leads_) return {};
    owed_ = false;
    return best_text(record.trial(leads_), study_);
}

std::int64_t tries(const TrialRecord& trial) { return 1 + trial.failures + trial.memory_deaths; }

}  // namespace hpo::view
