#include "orchestrator/scheduling/placement.hpp"

#include <algorithm>

#include "orchestrator/scheduling/concurrency.hpp"

namespace hpo {

namespace {

using State = PlacementWorker::State;

/// Devices of workers that could train the trial with others of its fusion key: now, or in a moment, when they have
/// started or answered. It is worth waiting for one on a device that is less used.
std::vector<int> joinable_devices(const PlacementState& state, const PlacementTrial& trial, std::size_t most) {
    std::vector<int> devices;
    if (trial.fusion_key.empty() || trial.own_worker || trial.alone) return devices;
    for (const PlacementWorker& worker : state.workers) {
        const bool starts = worker.state == State::starting;
        if ((!starts && worker.state != State::ready) || worker.fusion_key != trial.fusion_key || worker.trials == 0)
            continue;
        if (worker.trials < (starts ? most : worker.slots) && !worker.exclusive) devices.push_back(worker.device);
    }
    return devices;
}

std::vector<Waiting> waiting(const PlacementState& state) {
    const std::size_t most = most_slots_of(state);
    std::vector<Waiting> queue;
    for (const PlacementTrial& trial : state.queue) {
        queue.push_back({trial.trial, trial.footprint, state.on_device, trial.alone, {}, {}});
        queue.back().devices = state.devices;
        queue.back().colocated = trial.colocated;
        queue.back().joinable_on = joinable_devices(state, trial, most);
    }
    return queue;
}

const PlacementTrial& trial_of(const PlacementState& state, std::int64_t number) {
    return *std::find_if(state.queue.begin(), state.queue.end(),
                         [&](const PlacementTrial& trial) { return trial.trial == number; });
}

bool on_devices_of(const PlacementWorker& worker, const Admission::Launch& launch) {
    return worker.device == launch.device && worker.more == launch.more;
}

bool takes(const PlacementWorker& worker, const PlacementTrial& trial, const Admission::Launch& launch) {
    if (worker.state != State::ready || worker.asked || !on_devices_of(worker, launch)) return false;
    if (worker.trials == 0) return !launch.joins;
    // Workers that do not answer what trials need have no fusion keys: any trials may share one.
    const bool alike = launch.joins ? worker.fusion_key == trial.fusion_key : !worker.plans;
    return alike && !trial.own_worker && worker.trials < worker.slots && !worker.exclusive;
}

/// Whether a further worker may train on the device.
bool may_use_another(const PlacementState& state, int device) {
    const auto own = state.workers_on.find(device);
    const auto most = own == state.workers_on.end() ? state.workers_each : std::optional(own->second);
    return !most || std::count_if(state.workers.begin(), state.workers.end(), [&](const PlacementWorker& worker) {
                        return worker.device == device && worker.trials > 0;
                    }) < *most;
}

/// The worker for an admitted trial; nothing: none can take it now. An idle worker of another device is released then.
std::optional<PlacementDecision::Start> worker_for(const Admission::Launch& launch, const PlacementTrial& trial,
                                                   PlacementState& state, PlacementDecision& decision) {
    const auto& workers = state.workers;
    const bool another = may_use_another(state, launch.device);
    const auto first = [&](auto&& fits) {
        return static_cast<std::size_t>(std::find_if(workers.begin(), workers.end(), fits) - workers.begin());
    };
    const auto start = [&](std::size_t worker, bool opens) { return PlacementDecision::Start{launch, worker, opens}; };
    auto worker = first([&](const PlacementWorker& w) { return another && w.idle() && takes(w, trial, launch); });
    if (worker == workers.size())
        worker = first([&](const PlacementWorker& w) { return w.trials > 0 && takes(w, trial, launch); });
    if (worker < workers.size()) return start(worker, false);
    // One that is about to answer what a trial needs takes this one then.
    const bool soon = std::any_of(workers.begin(), workers.end(), [&](const PlacementWorker& w) {
        return w.state == State::ready && w.asked && w.slots > 1 && w.trials == 0 && w.device == launch.device;
    });
    if (launch.joins || soon) return std::nullopt;
    if (!another) {
        decision.limited = true;
        return std::nullopt;
    }
    worker = first([](const PlacementWorker& w) { return w.state == State::empty; });
    if (worker < workers.size()) return state.may_open ? std::optional(start(worker, true)) : std::nullopt;
    worker = first([&](const PlacementWorker& w) { return w.idle() && !on_devices_of(w, launch); });
    if (worker < workers.size()) {
        decision.release.push_back(worker);
        state.workers[worker].state = State::leaving;
    }
    return std::nullopt;
}

}  // namespace

PlacementDecision place(const PlacementState& state, const Machine& machine) {
    Admission admission = admit(machine, state.reservations, waiting(state), state.parallel);
    PlacementDecision decision;
    decision.never = std::move(admission.never);
    decision.kept_out = std::move(admission.kept_out);
    if (!decision.never.empty()) return decision;
    PlacementState after = state;
    for (const Admission::Launch& launch : admission.launch) {
        decision.joins_soon = decision.joins_soon || launch.joins;
        if (!decision.start) decision.start = worker_for(launch, trial_of(state, launch.trial), after, decision);
    }
    return decision;
}

Reservation reservation_of(const PlacementState& state, const PlacementDecision::Start& start) {
    const PlacementTrial& trial = trial_of(state, start.launch.trial);
    return {trial.trial, start.launch.joins ? trial.colocated : trial.footprint, start.launch.device, trial.alone,
            start.launch.more};
}

void apply(PlacementState& state, const PlacementDecision::Start& start) {
    state.reservations.push_back(reservation_of(state, start));
    const PlacementTrial& trial = trial_of(state, start.launch.trial);
    PlacementWorker& worker = state.workers.at(start.worker);
    if (start.opens) {
        worker = {.state = State::starting, .device = start.launch.device, .more = start.launch.more};
    }
    worker.fusion_key = trial.fusion_key;
    worker.exclusive = worker.exclusive || trial.own_worker;
    ++worker.trials;
    std::erase_if(state.queue, [&](const PlacementTrial& other) { return other.trial == start.launch.trial; });
}

std::size_t most_slots_of(const PlacementState& state) {
    std::size_t slots = 1;
    for (const PlacementWorker& worker : state.workers)
        if (worker.plans) slots = std::max(slots, worker.slots);
    return slots;
}

std::size_t longest_queue(const PlacementState& state, std::size_t workers) {
    std::size_t free = 0;
    for (const PlacementWorker& worker : state.workers)
        if (!worker.fusion_key.empty() && worker.slots > worker.trials) free += worker.slots - worker.trials;
    return queue_length(workers, free);
}

}  // namespace hpo
