#include "orchestrator/engine/memory_failures.hpp"

#include "orchestrator/scheduling/capacity.hpp"

namespace hpo {

namespace {

std::string or_out_of_memory(const std::string& message) { return message.empty() ? "out of memory" : message; }

}  // namespace

void MemoryFailures::ran_out(const Job& job, const std::string& reported, bool device_memory) {
    const std::string message = or_out_of_memory(reported);
    context_.parts.ledger.requeue(job.id.trial, Outcome::out_of_memory, false, message);
    if (!device_memory)
        return go_on(job, message, false, others_of(machine_.for_trials(), job.held.reservation.device));
    diagnoses_.add({.job = job, .until = context_.now() + read_anew_after, .reason = message, .out_of_memory = true});
}

void MemoryFailures::ran_out_among_others(std::int64_t trial, const std::string& reported) {
    const std::string message = or_out_of_memory(reported);
    context_.parts.ledger.requeue(trial, Outcome::out_of_memory, false, message);
    requirements_.use_own_worker(trial);
    context_.say(Notice::Level::warning, trial, message + "; queued again, in its own worker");
}

void MemoryFailures::go_on(const Job& job, const std::string& message, bool device_memory, const Footprint& others) {
    const std::int64_t trial = job.id.trial;
    const Reservation& reserved = job.held.reservation;
    const Allocation given{reserved.footprint, "", reserved.alone, requirements_.of(trial).micro_batches, {}};
    const auto next =
        requirements_.learn_from(trial, {given, job.held.used, device_memory, others}, machine_.for_trials());
    if (!next) return ends_.fail(trial, message + "; " + next.error().message, "out of memory");
    context_.say(Notice::Level::warning, trial, message + "; queued again " + *next);
}

}  // namespace hpo
