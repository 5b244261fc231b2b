#include "orchestrator/preview/packing.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/scheduling/placement.hpp"

namespace hpo {

namespace {

constexpr std::int64_t max_simulated = 1024;               ///< trials at once, more than any machine runs
constexpr std::size_t max_queue = 64;                      ///< waiting trials if each needs its own worker
constexpr std::int64_t unlimited = std::int64_t{1} << 60;  ///< bytes

std::int64_t available_of(std::int64_t capacity, std::int64_t reserve, std::int64_t others) {
    return std::max<std::int64_t>(0, capacity - reserve - others);
}

std::vector<Packing::Pool> empty_pools(const Machine& machine) {
    const Machine::Host& host = machine.hosts.front();
    std::vector<Packing::Pool> pools{
        {"", host.memory, host.reserve, host.others, available_of(host.memory, host.reserve, host.others)}};
    for (const Accelerator& device : machine.accelerators)
        pools.push_back({device.id, device.memory, device.reserve, device.others,
                         device.usable ? available_of(device.memory, device.reserve, device.others) : 0});
    return pools;
}

/// Subtracts a trial's memory from the pools and from the machine's free memory.
void take(const Reservation& reservation, Machine& machine, std::vector<Packing::Pool>& pools) {
    const Footprint& footprint = reservation.footprint;
    const auto reserve = [](Packing::Pool& pool, std::optional<std::int64_t>& free, std::int64_t bytes) {
        ++pool.trials;
        pool.reserved += bytes;
        if (free) *free -= bytes;
    };
    std::int64_t on_host = footprint.host_bytes + (is_host(reservation.device) ? footprint.device_bytes : 0);
    for (std::size_t index = 0; index < machine.accelerators.size(); ++index) {
        if (!computes_on(static_cast<int>(index), reservation.device, reservation.more)) continue;
        Accelerator& device = machine.accelerators[index];
        reserve(pools.at(index + 1), device.free, footprint.device_bytes);
        if (device.unified) on_host += footprint.device_bytes;
    }
    reserve(pools.front(), machine.hosts.front().free, on_host);
}

/// Starts trials one by one by the rules of `hpo run` (scheduling/placement.hpp) until none can start. Workers are
/// ready as soon as they are launched.
Packing fill(const PackingQuestion& question) {
    Packing packing;
    packing.pools = empty_pools(question.machine);
    Machine machine = question.machine;
    Placement placement;
    placement.set_limits({.parallel = question.parallel});
    placement.set_machine(machine);
    const auto count = question.trials.empty() ? 0 : std::min(question.budget_trials, max_simulated);
    const auto workers = static_cast<std::size_t>(question.workers);
    placement.set_worker(0, {});
    for (std::int64_t next = 1;;) {
        const PlacementDecision decision = placement.decide();
        if (decision.kept_out && packing.kept_out.empty()) packing.kept_out = decision.kept_out->text;
        for (const auto& never : decision.never) placement.set_queued(never.trial, false);
        if (!decision.never.empty()) continue;
        if (decision.start) {
            const auto& [launch, index, opens] = *decision.start;
            const Reservation reservation = placement.reservation_of(*decision.start);
            PlacementWorker worker = placement.worker(index);
            if (opens) worker = {.state = PlacementWorker::State::ready, .device = launch.device, .more = launch.more};
            const bool has_slots = !question.on_device || !is_host(worker.device);
            worker.slots = has_slots ? static_cast<std::size_t>(question.slots) : 1;
            worker.plans = true;
            worker.fusion_key = placement.needs_of(launch.trial).fusion_key;
            ++worker.trials;
            placement.set_worker(index, worker);
            // There is always a worker to start, so that cores and memory alone limit their number.
            if (opens) placement.set_worker(index + 1, {});
            placement.hold(++packing.at_once, reservation);
            packing.workers += opens ? 1 : 0;
            take(reservation, machine, packing.pools);
            placement.host_changed(0);
            continue;
        }
        // With several slots the queue must not be longer than in a real run, since that decides which trials share a
        // worker. With one slot it may be longer, which saves rounds.
        const std::size_t longest =
            question.slots == 1 ? std::max(max_queue, workers) : placement.longest_queue(workers);
        if (next > count || placement.waiting() >= longest) return packing;
        const auto length = question.slots == 1 ? longest : placement.waiting() + 1;
        for (; next <= count && placement.waiting() < length; ++next) {
            const auto& trial = question.trials[static_cast<std::size_t>(next - 1) % question.trials.size()];
            placement.set_queued(next, true);
            placement.set_needs({.trial = next,
                                 .footprint = trial.footprint,
                                 .devices = question.on_device && !trial.on_host ? question.devices : 0,
                                 .colocated = trial.colocated,
                                 .fusion_key = trial.fusion_key});
        }
    }
}

void lift_cores(PackingQuestion& question) { question.machine.hosts.front().cores = 1e9; }
void lift_host(PackingQuestion& question) {
    Machine::Host& host = question.machine.hosts.front();
    host = {.cores = host.cores, .memory = unlimited};
}
void lift_devices(PackingQuestion& question) {
    for (Accelerator& device : question.machine.accelerators) {
        device.memory = unlimited;
        device.reserve = device.others = 0;
        device.free.reset();
    }
}
void lift_parallel(PackingQuestion& question) {
    question.parallel.reset();
    for (Accelerator& device : question.machine.accelerators) device.parallel.reset();
}

void lift_slots(PackingQuestion& question) {
    if (question.slots > 1) question.slots = max_simulated;
}

struct Limit {
    const char* name;
    void (*lift)(PackingQuestion&);
};
constexpr Limit limits[] = {{"resources.parallel", lift_parallel},
                            {"cores", lift_cores},
                            {"device memory", lift_devices},
                            {"host memory", lift_host},
                            {"resources.slots", lift_slots}};

/// Names the limits that keep more trials from starting: each that would do so if it were the only limit. If there is
/// none, several act together, and each is named without which more trials could start. A limit that hpo chose itself
/// is only named if there is no other.
std::string limit_of(const PackingQuestion& question, std::int64_t at_once) {
    if (question.trials.empty()) return {};
    if (at_once >= question.budget_trials) return "the trials of the budget";
    std::vector<std::string> sufficient, necessary;
    for (const Limit& limit : limits) {
        PackingQuestion without = question, only = question;
        limit.lift(without);
        for (const Limit& other : limits)
            if (&other != &limit) other.lift(only);
        if (fill(only).at_once <= at_once) sufficient.emplace_back(limit.name);
        if (fill(without).at_once > at_once) necessary.emplace_back(limit.name);
    }
    std::vector<std::string>& names = sufficient.empty() ? necessary : sufficient;
    if (question.parallel_by_default && !names.empty() && names.front() == limits[0].name) {
        if (names.size() > 1)
            names.erase(names.begin());
        else
            names.front() += " (auto: a quarter of the trials, or one a core)";
    }
    for (std::string& name : names)
        if (question.slots_by_default && name == "resources.slots")
            name += " (auto: " + std::to_string(question.slots) + " at first, more if that pays)";
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " and ") + name;
    return text;
}

}  // namespace

Packing pack(const PackingQuestion& question) {
    Packing packing = fill(question);
    packing.limit = limit_of(question, packing.at_once);
    return packing;
}

std::optional<std::string> never_fits(const Machine& machine, const Footprint& footprint, bool on_device,
                                      std::size_t devices) {
    const TrialNeeds needs{.trial = 1, .footprint = footprint, .devices = on_device ? devices : 0};
    const Admission admission(machine, {});
    if (admission.fit_of(needs) != Admission::Fit::never) return std::nullopt;
    return admission.too_large(needs);
}

}  // namespace hpo
