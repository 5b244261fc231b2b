#include "orchestrator/scheduling/device_concurrency.hpp"

namespace hpo {

bool DeviceConcurrency::learn(const MeteredChanges& changes, std::int64_t left) {
    for (const RateChange& change : changes.workers) workers_.add(change);
    for (const RateChange& change : changes.fused) fused_.add(change);
    const std::int64_t workers_before = workers_.limit(), fused_before = fused_.limit();
    const bool measured = meter_.measured();
    // Only one of the two numbers changes at a time, so that a change of rates has one cause.
    fused_.decide(left, measured && !workers_.trying() ? meter_.most_fused() : 0);
    workers_.decide(left, measured && !fused_.trying() ? meter_.workers() : 0);
    return workers_.limit() != workers_before || fused_.limit() != fused_before;
}

bool DeviceConcurrency::run(const std::vector<MeteredTrial>& trials, std::int64_t left) {
    const MeteredChanges changes = meter_.run(trials);
    if (changes.empty()) {
        workers_.ended_unmeasured(changes.ended);
        fused_.ended_unmeasured(changes.ended);
    }
    return learn(changes, left);
}

bool DeviceConcurrency::reported(std::int64_t trial, std::int64_t step, Seconds now, std::int64_t left,
                                 const std::optional<ThreadTime>& threads) {
    const MeteredChanges changes = meter_.reported(trial, step, now, threads);
    return (changes.measured || !changes.empty()) && learn(changes, left);
}

}  // namespace hpo
