#include "orchestrator/engine/trial_ends.hpp"

#include <algorithm>
#include <utility>

#include "hpo/nearest_metric.hpp"
#include "hpo/standing.hpp"
#include "orchestrator/engine/text.hpp"

namespace hpo {

namespace {

/// Returns the longest training time of a running trial.
Seconds longest_running(const WorkerPool& pool, Seconds now) {
    Seconds longest{0};
    for (const Worker& worker : pool.workers())
        for (const Job& job : worker.jobs)
            if (job.phase == Job::Phase::running) longest = std::max(longest, now - job.begun);
    return longest;
}

/// Returns the largest number of steps between two reports of a curve, or before its first one.
std::int64_t largest_gap(std::span<const Report> curve) {
    std::int64_t gap = 0, before = 0;
    for (const Report& report : curve) gap = std::max(gap, report.step - std::exchange(before, report.step));
    return gap;
}

constexpr const char* nothing_to_judge_by =
    "\n  the session ends, since no trial of the study could be judged so far; correct the study or the script, then "
    "run the same command to continue";

/// Returns the cure where the command's Python lacks a module, usually since it is not that of the user's environment.
std::string cure_of_missing_module(const Study& study, const std::string& reason) {
    const ScriptWorker* script = study.script();
    if (script == nullptr || reason.find("No module named") == std::string::npos) return {};
    const std::string& program = script->command.front();
    const auto slash = program.rfind('/');
    const bool is_searched = slash == std::string::npos;  // in $PATH
    if (!program.substr(is_searched ? 0 : slash + 1).starts_with("python")) return {};
    return "\n  " + program + " lacks this module" +
           (is_searched ? " (`hpo check` shows which " + program + " runs)" : std::string()) +
           ": install it there, or name a Python that has it in worker.command, such as .venv/bin/python";
}

/// Returns the reason of a trial that ended well without the objective, with the names that it reported.
std::string never_reported(const std::string& objective, const TrialRecord& trial) {
    Metrics reported = trial.closing;
    for (const Report& report : trial.curve) reported.insert(report.metrics.begin(), report.metrics.end());
    return "the script ended and never reported the objective '" + objective + "'" +
           (reported.empty() ? ", nor any other metric: report it with each step, or at the end"
                             : ", but " + names_with_nearest(objective, reported));
}

}  // namespace

std::int64_t stride_of(const std::deque<TrialRecord>& trials, const TrialRecord& trial) {
    if (trial.curve.size() < 2)
        for (auto other = trials.rbegin(); other != trials.rend(); ++other)
            if (other->number != trial.number && !other->thinned && !other->curve.empty())
                return largest_gap(other->curve);
    return largest_gap(trial.curve);
}

void TrialEnds::finish(std::int64_t trial, TrialState state, const std::string& rule, const std::string& reason) {
    context_.parts.ledger.finish(trial, state, rule, reason);
    announce(trial);
}

void TrialEnds::complete(std::int64_t trial, const Metrics& values) {
    const Study& study = context_.parts.study;
    context_.parts.ledger.complete(trial, final_step(context_.trial(trial), values, study.budget));
    if (context_.trial(trial).state == TrialState::failed) failed_as_judged(trial);
    announce(trial);
}

void TrialEnds::fail(std::int64_t trial, const std::string& reason, const std::string& cause) {
    context_.parts.ledger.finish(trial, TrialState::failed, "", reason);
    count_failure(trial, reason, cause);  // before the trial's needs are forgotten, and how long it lasted with them
    announce(trial);
}

void TrialEnds::failed_as_judged(std::int64_t trial) {
    const Objective& objective = context_.parts.study.objective;
    const auto& trials = context_.parts.ledger.record().trials;
    const bool any_judged = std::any_of(trials.begin(), trials.end(), [&](const TrialRecord& other) {
        return standing_of(other, objective).has_value();
    });
    const std::string& reason = context_.trial(trial).reason;
    if (!any_judged) context_.conclude(SessionEnd::failed, reason + nothing_to_judge_by);
    count_failure(trial, reason, {});
}

void TrialEnds::ended_without_value(std::int64_t trial, std::string reason) {
    const auto& trials = context_.parts.ledger.record().trials;
    const TrialRecord& record = context_.trial(trial);
    if (reason.empty()) reason = never_reported(context_.parts.study.objective.metric, record);
    if (std::any_of(trials.begin(), trials.end(), [](const TrialRecord& other) { return other.value.has_value(); }))
        return fail(trial, reason);
    context_.conclude(SessionEnd::failed, reason + nothing_to_judge_by);
    if (record.attempt > 1) return fail(trial, reason);
    context_.say(Notice::Level::error, trial, reason);
    requeue_without_blame(trial, reason);
}

void TrialEnds::count_failure(std::int64_t trial, const std::string& reason, const std::string& cause) {
    const TrialFailures::Failure failure{.reason = reason,
                                         .cause = cause,
                                         .lasted = requirements_.of(trial).lasted,
                                         .steps = context_.trial(trial).steps()};
    failures_.failed(failure);
    context_.say(Notice::Level::error, trial, reason);
    const auto why = failures_.reason_to_give_up(
        failure, {.running = pool_.running().size(), .longest = longest_running(pool_, context_.now())});
    if (why) context_.conclude(SessionEnd::failed, *why + cure_of_missing_module(context_.parts.study, reason));
}

void TrialEnds::charge(AttemptId id, const std::string& reason) {
    const std::int64_t failures = context_.trial(id.trial).failures + 1;
    const std::int64_t allowed = context_.parts.study.resources.retries;
    if (failures > allowed) return fail(id.trial, counted(failures, "attempt") + " ended: " + reason);
    context_.parts.ledger.requeue(id.trial, Outcome::lost, true, reason);
    context_.say(Notice::Level::warning, id.trial,
                 reason + "\n  tried again (" + std::to_string(failures) + " of " + std::to_string(allowed) + ")");
}

std::string TrialEnds::missing_steps(const Job& job) const {
    const TrialRecord& record = context_.trial(job.id.trial);
    const std::int64_t stored = record.steps();
    const auto due = stored + std::max<std::int64_t>(1, stride_of(context_.parts.ledger.record().trials, record));
    const bool at_the_end = job.from_step > stored && job.from_step >= context_.parts.study.budget.epochs;
    if (job.last_step > 0 || (job.from_step < due && !at_the_end)) return {};
    return "it went on from a checkpoint of step " + std::to_string(job.from_step) +
           " and reported none after it, but " +
           (stored == 0 ? "no step is stored" : "the last stored step is " + std::to_string(stored)) +
           ", as after a loss of power: remove the checkpoint in " +
           context_.parts.checkpoints(job.id.trial, false).string() + " if this recurs";
}

void TrialEnds::requeue_without_blame(std::int64_t trial, const std::string& reason) {
    if (context_.trial(trial).state == TrialState::running)
        context_.parts.ledger.requeue(trial, Outcome::lost, false, reason);
}

void TrialEnds::announce(std::int64_t trial) {
    const TrialRecord& record = context_.trial(trial);
    if (!is_final(record.state)) return;
    requirements_.forget(trial);
    if (record.state != TrialState::failed) failures_.other_end();
    if (context_.parts.trial_ended) context_.parts.trial_ended(record);
}

}  // namespace hpo
