#include "orchestrator/engine/pending_diagnoses.hpp"

#include <algorithm>
#include <iterator>

#include "orchestrator/scheduling/capacity.hpp"

namespace hpo {

void PendingDiagnoses::add(PendingDiagnosis diagnosis) {
    placement_.hold(diagnosis.job.order, diagnosis.job.held.reservation);
    pending_.push_back(std::move(diagnosis));
}

void PendingDiagnoses::clear() {
    for (const PendingDiagnosis& diagnosis : pending_) placement_.release(diagnosis.job.order);
    pending_.clear();
}

void PendingDiagnoses::drop(std::int64_t trial) {
    std::erase_if(pending_, [&](const PendingDiagnosis& diagnosis) {
        const bool dropped = diagnosis.job.id.trial == trial;
        if (dropped) placement_.release(diagnosis.job.order);
        return dropped;
    });
}

void PendingDiagnoses::read(const Machine& machine) {
    for (PendingDiagnosis& diagnosis : pending_)
        for (const int device : devices_of(diagnosis.job.held.reservation))
            diagnosis.others = at_least(diagnosis.others, others_of(machine, device));
}

std::optional<PendingDiagnoses::Due> PendingDiagnoses::take_due(const DeviceHealth& health, Seconds now) {
    for (auto diagnosis = pending_.begin(); diagnosis != pending_.end(); ++diagnosis) {
        const std::vector<int> devices = devices_of(diagnosis->job.held.reservation);
        const bool lost =
            std::any_of(devices.begin(), devices.end(), [&](int device) { return health.is_gone(device); });
        if (!lost && now < diagnosis->until) continue;
        Due due{std::move(*diagnosis), lost};
        pending_.erase(diagnosis);
        placement_.release(due.diagnosis.job.order);
        return due;
    }
    return std::nullopt;
}

std::vector<PendingDiagnosis> PendingDiagnoses::take_deaths_with(
    const PendingDiagnosis& first, const std::function<bool(std::int64_t trial)>& running) {
    const Reservation& held = first.job.held.reservation;
    const auto died_with_it = [&](const PendingDiagnosis& other) {
        const Reservation& theirs = other.job.held.reservation;
        return !other.out_of_memory && !other.device_failed && computes_on(held.device, theirs.device, theirs.more) &&
               running(other.job.id.trial);
    };
    std::vector<PendingDiagnosis> taken;
    std::copy_if(pending_.begin(), pending_.end(), std::back_inserter(taken), died_with_it);
    std::erase_if(pending_, died_with_it);
    for (const PendingDiagnosis& diagnosis : taken) placement_.release(diagnosis.job.order);
    return taken;
}

}  // namespace hpo
