#include "orchestrator/scheduling/placement.hpp"

#include <algorithm>

#include "orchestrator/scheduling/concurrency.hpp"
#include "orchestrator/scheduling/placer.hpp"

namespace hpo {

namespace {

using State = PlacementWorker::State;

const PlacementTrial& trial_of(const PlacementState& state, std::int64_t number) {
    return *std::find_if(state.queue.begin(), state.queue.end(),
                         [&](const PlacementTrial& trial) { return trial.trial == number; });
}

}  // namespace

PlacementDecision place(const PlacementState& state, const Machine& machine) {
    Placer placer;
    placer.set_limits(state);
    placer.set_machine(machine);
    for (std::size_t i = 0; i < state.workers.size(); ++i) placer.set_worker(i, state.workers[i]);
    for (std::size_t i = 0; i < state.reservations.size(); ++i)
        placer.hold(static_cast<std::int64_t>(i), state.reservations[i]);
    for (std::size_t i = 0; i < state.queue.size(); ++i) placer.enqueue(static_cast<std::int64_t>(i), state.queue[i]);
    return placer.decide();
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

std::size_t longest_queue(const PlacementState& state, std::size_t workers) {
    std::size_t free = 0;
    for (const PlacementWorker& worker : state.workers)
        if (!worker.fusion_key.empty() && worker.slots > worker.trials) free += worker.slots - worker.trials;
    return queue_length(workers, free);
}

}  // namespace hpo
