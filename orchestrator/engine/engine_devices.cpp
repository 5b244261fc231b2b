// Devices that fail: whose fault a worker's end was, and which devices are not used any more.
#include <algorithm>
#include <iterator>

#include "orchestrator/engine/engine.hpp"
#include "orchestrator/engine/text.hpp"

namespace hpo {

/// The machine as it is read, without the devices that this session has given up.
Machine Engine::machine_now(std::span<const std::int64_t> workers, std::int64_t reusable) const {
    Machine machine = parts_.machine(workers, reusable);
    health_.remove_given_up(machine);
    return machine;
}

/// Workers on a lost device are ended, their trials queued again without blame; without any device left the session
/// ends.
void Engine::set_lost_devices_aside() {
    if (!parts_.on_device) return;
    const Machine machine = machine_now({}, 0);
    const auto name = [&](int device) {
        return "device " + machine.accelerators.at(static_cast<std::size_t>(device)).id;
    };
    const DeviceHealth::Changes changes = health_.read(machine);
    for (const int device : changes.back) say(Notice::Level::info, 0, name(device) + " is back");
    for (const int device : changes.lost) {
        launch_failures_ = 0;
        const std::string reason = name(device) + " was lost";
        say(Notice::Level::warning, 0, reason + ": set aside, its trials are queued again");
        leave_device(device, reason);
    }
    if (changes.any_usable) return;
    const std::string& why = health_.why_given_up();
    conclude(End::failed, why.empty() ? "no device is left: every one that the study may use was lost"
                                      : "no device is left, " + why + "; hpo run --backend cpu resumes without one");
}

void Engine::leave_device(int device, const std::string& reason) {
    for (std::size_t index = 0; index < workers_.size(); ++index)
        if (computes_on(device, workers_[index].device, workers_[index].more) &&
            workers_[index].state != State::leaving)
            leave(static_cast<WorkerIndex>(index), reason);
}

void Engine::give_up(int device, const std::string& why) {
    const std::string reason =
        "device " + parts_.machine({}, 0).accelerators.at(static_cast<std::size_t>(device)).id + ' ' + why;
    health_.give_up(device, reason);
    say(Notice::Level::warning, 0, reason + "\n  it is not used any more in this run");
    leave_device(device, reason);
    placement_due_ = true;
    set_lost_devices_aside();
}

/// The devices failed under these trials: which of several did nobody can tell, so that each may be given up. True: one
/// is, and the trials are not to blame.
bool Engine::failed_under(std::span<const int> devices, std::span<const std::int64_t> trials,
                          const std::string& reason) {
    bool gone = false;
    for (const int device : devices) {
        if (!health_.given_up(device))
            if (const auto why = health_.failed(device, trials, reason, parts_.clock.now())) give_up(device, *why);
        gone = gone || health_.given_up(device);
    }
    return gone;
}

void Engine::start_failed(int device, const std::string& message) {
    placement_due_ = true;
    say(Notice::Level::error, 0, message);
    const auto why = health_.start_failed(device, message, parts_.clock.now());
    if (why && !closing_) give_up(device, *why);
}

/// Workers that died shortly before their device was found lost are not to blame; nor are trials for the memory that
/// others took.
void Engine::diagnose_pending() {
    if (pending_diagnoses_.empty()) return;
    const Seconds now = parts_.clock.now();
    const Machine machine = read_machine();
    for (std::size_t i = 0; i < pending_diagnoses_.size();) {
        PendingDiagnosis& open = pending_diagnoses_[i];
        const std::vector<int> devices = devices_of(open.job.held.reservation);
        const bool lost_device =
            std::any_of(devices.begin(), devices.end(), [this](int device) { return health_.is_gone(device); });
        for (const int device : devices) open.others = at_least(open.others, others_of(machine, device));
        if (!lost_device && now < open.until) {
            ++i;
            continue;
        }
        const PendingDiagnosis diagnosis = open;
        pending_diagnoses_.erase(pending_diagnoses_.begin() + static_cast<std::ptrdiff_t>(i));
        const AttemptId id = diagnosis.job.id;
        const bool running = parts_.ledger.record().trial(id.trial).state == TrialState::running;
        if (diagnosis.out_of_memory)
            go_on_after_out_of_memory(diagnosis.job, diagnosis.reason, true, diagnosis.others);
        else if (!running)
            continue;
        else if (lost_device || (diagnosis.device_failed && failed_under(devices, {&id.trial, 1}, diagnosis.reason)))
            requeue_without_blame(id.trial, "its device was lost: " + diagnosis.reason);
        else if (!diagnosis.device_failed && died_together(diagnosis))
            i = 0;  // others were diagnosed with it
        else
            lost(id, diagnosis.reason);
        if (closing_) return;
    }
}

/// A fault of one process may end all that share its device: several that died within moments there are none of them
/// to blame, and none is charged. Each is tried again with nothing beside it, where it is clear whose fault it is.
bool Engine::died_together(const PendingDiagnosis& first) {
    const auto shares = [&](const PendingDiagnosis& other) {
        return !other.out_of_memory && !other.device_failed &&
               computes_on(first.job.held.reservation.device, other.job.held.reservation.device,
                           other.job.held.reservation.more) &&
               parts_.ledger.record().trial(other.job.id.trial).state == TrialState::running;
    };
    std::vector<PendingDiagnosis> all{first};
    std::copy_if(pending_diagnoses_.begin(), pending_diagnoses_.end(), std::back_inserter(all), shares);
    if (all.size() == 1) return false;
    std::erase_if(pending_diagnoses_, shares);
    const Machine machine = parts_.machine({}, 0);
    const auto device = static_cast<std::size_t>(first.job.held.reservation.device);
    const std::string together = count(static_cast<std::int64_t>(all.size()), "worker", "workers") + " on device " +
                                 machine.accelerators.at(device).id + " died at the same time";
    say(Notice::Level::warning, 0, together + "; none is blamed, each trial is tried again alone: " + first.reason);
    for (const PendingDiagnosis& diagnosis : all) {
        Requirements& requirements = requirements_[diagnosis.job.id.trial];
        requirements.must_run_alone = true;
        requirements.known = false;
        requeue_without_blame(diagnosis.job.id.trial, together + ": " + diagnosis.reason);
    }
    placement_due_ = true;
    return true;
}

void Engine::requeue_without_blame(std::int64_t trial, const std::string& reason) {
    if (parts_.ledger.record().trial(trial).state == TrialState::running)
        parts_.ledger.requeue(trial, Outcome::lost, false, reason);
}

}  // namespace hpo
