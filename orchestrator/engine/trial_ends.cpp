#include "orchestrator/engine/trial_ends.hpp"

#include <algorithm>

#include "orchestrator/engine/text.hpp"

namespace hpo {

namespace {

/// The longest that a running trial has trained for.
Seconds longest_running(const WorkerPool& pool, Seconds now) {
    Seconds longest{0};
    for (const Worker& worker : pool.workers())
        for (const Job& job : worker.jobs)
            if (job.phase == Job::Phase::running) longest = std::max(longest, now - job.begun);
    return longest;
}

}  // namespace

void TrialEnds::finish(std::int64_t trial, TrialState state, const std::string& rule, const std::string& reason) {
    context_.parts.ledger.finish(trial, state, rule, reason);
    announce(trial);
}

void TrialEnds::fail(std::int64_t trial, const std::string& reason, const std::string& cause) {
    context_.parts.ledger.finish(trial, TrialState::failed, "", reason);
    announce(trial);
    count_failure(trial, reason, cause);
}

void TrialEnds::failed_as_judged(std::int64_t trial) { count_failure(trial, context_.trial(trial).reason, {}); }

void TrialEnds::count_failure(std::int64_t trial, const std::string& reason, const std::string& cause) {
    const TrialFailures::Failure failure{.reason = reason,
                                         .cause = cause,
                                         .lasted = requirements_.of(trial).lasted,
                                         .steps = context_.trial(trial).steps()};
    failures_.failed(failure);
    context_.say(Notice::Level::error, trial, reason);
    const auto why = failures_.reason_to_give_up(
        failure, {.running = pool_.running().size(), .longest = longest_running(pool_, context_.now())});
    if (why) context_.conclude(SessionEnd::failed, *why);
}

void TrialEnds::charge(AttemptId id, const std::string& reason) {
    const std::int64_t failures = context_.trial(id.trial).failures + 1;
    const std::int64_t allowed = context_.parts.study.resources.retries;
    if (failures > allowed) return fail(id.trial, count(failures, "attempt", "attempts") + " ended: " + reason);
    context_.parts.ledger.requeue(id.trial, Outcome::lost, true, reason);
    context_.say(Notice::Level::warning, id.trial,
                 reason + "\n  tried again (" + std::to_string(failures) + " of " + std::to_string(allowed) + ")");
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
