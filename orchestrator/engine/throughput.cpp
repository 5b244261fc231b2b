#include "orchestrator/engine/throughput.hpp"

#include <algorithm>
#include <numeric>

#include "orchestrator/scheduling/concurrency.hpp"

namespace hpo {

namespace {

/// Returns the number of trials that a search has settled on, fused ones included.
std::int64_t settled_on(const DeviceConcurrency& device) { return device.workers().number() * device.fused().number(); }

}  // namespace

std::int64_t Throughput::left() const {
    const EngineParts& parts = context_.parts;
    return parts.study.budget.trials - static_cast<std::int64_t>(parts.ledger.record().trials.size());
}

DeviceConcurrency& Throughput::on(int device, std::int64_t slots) {
    if (const auto found = devices_.find(device); found != devices_.end()) return found->second;
    const ConcurrencyPlan& plan = *context_.parts.concurrency;
    const auto remembered = plan.remembered.find(device);
    const RememberedConcurrency before =
        remembered == plan.remembered.end() ? RememberedConcurrency{} : remembered->second;
    const std::int64_t fused =
        std::min(slots, most_at_once(context_.parts.study, plan.workers.most, slots).value_or(slots));
    // All workers with several slots may be used at once, since trials with different fusion keys need one each.
    const std::int64_t start = slots > 1 ? plan.workers.most : plan.workers.start;
    const ConcurrencyRange in_each{slots_at_first(context_.parts.study, fused), fused};
    return devices_.emplace(device, DeviceConcurrency({start, plan.workers.most}, in_each, before, plan.cores))
        .first->second;
}

/// Returns the limit of a device before any trial has run on it.
std::int64_t Throughput::first_limit(int device) const {
    const ConcurrencyPlan& plan = *context_.parts.concurrency;
    const auto remembered = plan.remembered.find(device);
    if (remembered == plan.remembered.end() || remembered->second.workers.number == 0) return plan.workers.start;
    return std::min(plan.workers.most, remembered->second.workers.number);
}

void Throughput::note_change(int device, std::int64_t before) {
    const DeviceConcurrency& search = devices_.at(device);
    placement_.look_again();
    if (settled_on(search) == before) return;
    const std::string where = is_host(device) ? "" : " on gpu " + std::to_string(device);
    const std::string& text = search.workers().text().empty() ? search.fused().text() : search.workers().text();
    context_.say(Notice::Level::info, 0,
                 std::to_string(settled_on(search)) + " at once" + where + " from now on" +
                     (text.empty() ? "" : ", by their throughput: " + text));
}

void Throughput::observe() {
    if (!context_.parts.concurrency) return;
    std::map<int, std::vector<MeteredTrial>> running;
    std::map<int, std::int64_t> slots;
    for (const auto& [device, search] : devices_) running[device];
    const auto& workers = pool_.workers();
    for (std::size_t index = 0; index < workers.size(); ++index) {
        const Worker& worker = workers[index];
        if (worker.state == Worker::State::ready)
            slots[worker.device] = std::max(slots[worker.device], static_cast<std::int64_t>(worker.slots));
        for (const Job& job : worker.jobs)
            if (job.phase != Job::Phase::reserved)
                running[worker.device].push_back({job.id.trial, static_cast<int>(index)});
    }
    for (auto& [device, trials] : running) {
        DeviceConcurrency& search = on(device, std::max<std::int64_t>(1, slots[device]));
        const std::int64_t before = settled_on(search);
        if (search.run(trials, left())) note_change(device, before);
    }
}

void Throughput::reported(WorkerIndex index, std::int64_t trial, std::int64_t step) {
    const Worker& worker = pool_.at(index);
    const auto found = devices_.find(worker.device);
    if (found == devices_.end()) return;
    if (worker.borrows) return;  // with cores that others will want back it is faster than it will be beside them
    const std::int64_t before = settled_on(found->second);
    if (found->second.reported(trial, step, context_.now(), left(), thread_time(index)))
        note_change(worker.device, before);
}

std::optional<ThreadTime> Throughput::thread_time(WorkerIndex worker) const {
    return context_.parts.thread_time ? context_.parts.thread_time(worker) : std::nullopt;
}

void Throughput::ending(WorkerIndex index, std::int64_t trial) {
    const auto found = devices_.find(pool_.at(index).device);
    if (found != devices_.end()) found->second.ending(trial);
}

void Throughput::limit(PlacementLimits& limits, std::size_t most_slots) const {
    if (!context_.parts.concurrency) return;
    const ConcurrencyPlan& plan = *context_.parts.concurrency;
    if (!context_.parts.on_device || most_slots == 1) {
        limits.workers_each = plan.workers.start;
        for (const auto& [device, remembered] : plan.remembered) limits.workers_on[device] = first_limit(device);
    }
    const std::int64_t slots = slots_at_first(context_.parts.study, static_cast<std::int64_t>(most_slots));
    limits.slots_each = static_cast<std::size_t>(slots);
    for (const auto& [device, remembered] : plan.remembered)
        if (const std::int64_t number = remembered.fused.number; number > 0)
            limits.slots_on[device] = static_cast<std::size_t>(number);
    for (const auto& [device, search] : devices_) {
        limits.workers_on[device] = search.workers().limit();
        limits.slots_on[device] = static_cast<std::size_t>(search.fused().limit());
    }
}

bool Throughput::allows_another() const {
    if (!context_.parts.concurrency || context_.parts.on_device) return true;
    return pool_.with_trials() < at_once();
}

std::int64_t Throughput::at_once() const {
    const auto all = static_cast<std::int64_t>(pool_.workers().size());
    if (!context_.parts.concurrency) return all;
    if (devices_.empty()) return std::min(all, first_limit(context_.parts.on_device ? 0 : host_only));
    std::int64_t on_host = 0, on_devices = 0;
    for (const auto& [device, search] : devices_)
        (is_host(device) ? on_host : on_devices) += search.workers().limit() * search.fused().limit();
    return std::min(all, on_host) + on_devices;
}

std::vector<ConcurrencyFinding> Throughput::findings() const {
    std::vector<ConcurrencyFinding> all;
    for (const auto& [device, search] : devices_)
        if (!search.workers().text().empty() || !search.fused().text().empty())
            all.push_back({device,
                           {search.workers().found(), search.fused().found()},
                           search.workers().text(),
                           search.fused().text()});
    return all;
}

}  // namespace hpo
