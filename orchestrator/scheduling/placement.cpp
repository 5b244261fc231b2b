#include "orchestrator/scheduling/placement.hpp"

#include <algorithm>
#include <utility>

#include "orchestrator/scheduling/concurrency.hpp"

namespace hpo {

namespace {

using State = PlacementWorker::State;

bool is_on(const PlacementWorker& worker, const Admission::Launch& launch) {
    return worker.device == launch.device && worker.more == launch.more;
}

bool contains(const std::vector<std::size_t>& workers, std::size_t worker) {
    return std::find(workers.begin(), workers.end(), worker) != workers.end();
}

template <class Sets, class Key>
void set_member(Sets& sets, const Key& key, std::size_t worker, bool in) {
    if (in) {
        sets[key].insert(worker);
        return;
    }
    const auto found = sets.find(key);
    if (found == sets.end()) return;
    found->second.erase(worker);
    if (found->second.empty()) sets.erase(found);
}

template <class Counts, class Key>
void count_member(Counts& counts, const Key& key, bool in) {
    auto& count = counts[key];
    count += in ? 1 : -1;
    if (count == 0) counts.erase(key);
}

}  // namespace

// ---- Changes.

void Placement::set_machine(const Machine& machine) {
    machine_ = &machine;
    admission_.emplace(machine, limits_.parallel);
    for (const auto& [order, reservation] : held_) admission_->hold(order, reservation);
    for (const auto& [place, workers] : idle_on_) tell_idle(place);
    assess_all();
}

void Placement::host_changed(int host) {
    if (!admission_->host_changed(host)) set_machine(*machine_);
}

void Placement::set_limits(PlacementLimits limits) {
    const PlacementLimits before = std::exchange(limits_, std::move(limits));
    if (before.parallel != limits_.parallel && machine_) set_machine(*machine_);
    for (const auto& [place, workers] : idle_on_) tell_idle(place);
}

void Placement::set_worker(std::size_t worker, const PlacementWorker& now) {
    if (worker >= workers_.size()) {
        const std::size_t first = workers_.size();
        workers_.resize(worker + 1);
        for (std::size_t added = first; added <= worker; ++added) index(added, true);
    }
    if (workers_[worker] == now) return;
    changed_ = true;
    index(worker, false);
    const std::int64_t asked = std::exchange(workers_[worker], now).planning;
    index(worker, true);
    if (asked == now.planning) return;
    if (asked != 0) count_held(asked, -1);
    if (now.planning != 0) count_held(now.planning, 1);
}

void Placement::index(std::size_t worker, bool in) {
    const PlacementWorker& one = workers_[worker];
    const bool ready = one.state == State::ready;
    if (one.plans) count_member(slots_, one.slots, in);
    if (one.trials > 0) count_member(busy_on_, one.device, in);
    const auto member = [&](Workers& workers) {
        if (in)
            workers.insert(worker);
        else
            workers.erase(worker);
    };
    if (one.state == State::empty) member(empty_);
    if (one.idle()) {
        member(idle_);
        set_member(idle_on_, one.device, worker, in);
    }
    if (one.idle() || one.trials > 0) tell_idle(one.device);
    if (ready && one.planning != 0 && one.trials == 0) set_member(asked_on_, one.device, worker, in);
    if (ready && one.planning == 0 && one.trials > 0 && one.trials < one.slots && !one.exclusive)
        set_member(open_on_, one.device, worker, in);
    if (one.fusion_key.empty()) return;
    member(with_key_);
    if ((ready || one.state == State::starting) && one.trials > 0 && !one.exclusive)
        set_member(by_key_, one.fusion_key, worker, in);
}

void Placement::tell_idle(int place) {
    if (!admission_) return;
    const auto there = idle_on_.find(place);
    admission_->set_idle(place, there != idle_on_.end() && may_use_another(place) &&
                                    std::any_of(there->second.begin(), there->second.end(),
                                                [&](std::size_t worker) { return workers_[worker].more.empty(); }));
}

void Placement::hold(std::int64_t order, const Reservation& reservation) {
    if (!held_.emplace(order, reservation).second) return;
    if (admission_) admission_->hold(order, reservation);
    count_held(reservation.trial, 1);
}

void Placement::release(std::int64_t order) {
    const auto held = held_.find(order);
    if (held == held_.end()) return;
    changed_ = true;
    const std::int64_t trial = held->second.trial;
    held_.erase(held);
    if (admission_) admission_->release(order);
    count_held(trial, -1);
}

void Placement::set_queued(std::int64_t trial, bool queued) {
    const auto found = trials_.try_emplace(trial).first;
    if (found->second.queued != queued) changed_ = true;
    found->second.queued = queued;
    changed(found);
}

void Placement::set_needs(const TrialNeeds& needs) {
    const auto found = trials_.try_emplace(needs.trial).first;
    if (found->second.needs == needs) return;
    changed_ = true;
    found->second.needs = needs;
    changed(found);
}

void Placement::forget_needs(std::int64_t trial) {
    const auto found = trials_.find(trial);
    if (found == trials_.end() || !found->second.needs) return;
    changed_ = true;
    found->second.needs.reset();
    changed(found);
}

void Placement::count_held(std::int64_t trial, int added) {
    const auto found = trials_.try_emplace(trial).first;
    found->second.held += added;
    changed(found);
}

bool Placement::holds(std::int64_t trial) const {
    const auto found = trials_.find(trial);
    return found != trials_.end() && found->second.held > 0;
}

/// Places the trial in the set to which it belongs now.
void Placement::changed(Trials::iterator trial) {
    auto& [number, now] = *trial;
    const bool waits = now.queued && now.held == 0;
    if (waits && !now.needs)
        without_needs_.insert(number);
    else
        without_needs_.erase(number);
    if (waits && now.needs) {
        queue_.emplace(number, &now);
        if (admission_) assess(number, now);
    } else if (queue_.erase(number) > 0) {
        never_.erase(number);
        kept_out_.erase(number);
    }
    if (!now.known()) trials_.erase(trial);
}

void Placement::assess(std::int64_t number, Trial& trial) {
    const TrialNeeds& needs = *trial.needs;
    trial.fit = admission_->fit_of(needs);
    never_.erase(number);
    kept_out_.erase(number);
    if (trial.fit == Admission::Fit::never) {
        never_.insert(number);
        return;
    }
    if (trial.fit == Admission::Fit::kept_out) kept_out_.insert(number);
    auto& largest = needs.devices == 0 ? largest_on_host_ : largest_on_devices_;
    if (!largest) largest.emplace();
    largest->footprint = at_least(largest->footprint, needs.footprint);
    largest->devices = std::max(largest->devices, needs.devices);
}

void Placement::assess_all() {
    largest_on_host_.reset();
    largest_on_devices_.reset();
    for (const auto& [number, trial] : queue_) assess(number, *trial);
}

/// Assesses the waiting trials again if a reading has changed their fit. Readings change with each decision, but seldom
/// for waiting trials: where the largest trial fits, all do.
void Placement::assess_changed() {
    const Admission::Change change = admission_->take_change();
    if (change == Admission::Change::nothing) return;
    const auto fits = [&](const std::optional<TrialNeeds>& largest) {
        return !largest || admission_->fit_of(*largest) == Admission::Fit::yes;
    };
    const bool all_fit = kept_out_.empty() && fits(largest_on_host_) && fits(largest_on_devices_);
    if (change == Admission::Change::all || !all_fit) assess_all();
}

// ---- Decisions.

PlacementDecision Placement::decide() {
    assess_changed();
    PlacementDecision decision;
    for (const std::int64_t number : limits_.grows ? std::set<std::int64_t>() : never_)
        decision.never.push_back({number, admission_->too_large(needs_of(number))});
    // If a trial can never fit, nothing starts, but the first trial that waits for other programs is still reported.
    const bool may_start = decision.never.empty();
    for (const auto& [number, trial] : queue_) {
        if (!may_start && kept_out_.empty()) break;
        if (decision.start && (decision.kept_out || kept_out_.empty())) break;
        const TrialNeeds& needs = *trial->needs;
        if (const auto launch = admission_->consider(needs, trial->fit, joinable_devices(needs))) {
            if (!may_start) continue;
            decision.joins_soon = decision.joins_soon || launch->joins;
            if (!decision.start) decision.start = worker_for(*launch, needs, decision);
        } else if (trial->fit == Admission::Fit::kept_out && !decision.kept_out) {
            decision.kept_out = {number, admission_->kept_out(needs)};
        }
    }
    admission_->forget();
    return decision;
}

/// Returns the devices of workers that could train the trial with others of its fusion key: now, or in a moment, when
/// they have started or answered. Waiting pays for a worker on a device that is less used.
Devices Placement::joinable_devices(const TrialNeeds& trial) const {
    Devices devices;
    if (trial.fusion_key.empty() || trial.own_worker || trial.alone) return devices;
    const auto alike = by_key_.find(trial.fusion_key);
    if (alike == by_key_.end()) return devices;
    std::size_t most = 1;
    for (const PlacementWorker& worker : workers_)
        if (worker.plans) most = std::max(most, slots_of(worker));
    for (const std::size_t index : alike->second) {
        const PlacementWorker& worker = workers_[index];
        if (worker.trials < (worker.state == State::starting ? most : slots_of(worker)))
            devices.push_back(worker.device);
    }
    return devices;
}

std::size_t Placement::slots_of(const PlacementWorker& worker) const {
    if (worker.slots == 1) return 1;
    const auto own = limits_.slots_on.find(worker.device);
    const auto most = own == limits_.slots_on.end() ? limits_.slots_each : std::optional(own->second);
    return std::min(worker.slots, most.value_or(worker.slots));
}

/// Returns true if a further worker may train on the device.
bool Placement::may_use_another(int device) const {
    const auto own = limits_.workers_on.find(device);
    const auto most = own == limits_.workers_on.end() ? limits_.workers_each : std::optional(own->second);
    const auto busy = busy_on_.find(device);
    return !most || (busy == busy_on_.end() ? 0 : busy->second) < *most;
}

bool Placement::takes(const PlacementWorker& worker, const TrialNeeds& trial, const Admission::Launch& launch) const {
    if (!is_on(worker, launch)) return false;
    if (worker.trials == 0) return !launch.joins;
    // Workers that cannot plan trials have no fusion keys: any trials may share one.
    const bool alike = launch.joins ? worker.fusion_key == trial.fusion_key : !worker.plans;
    return alike && !trial.own_worker && worker.trials < slots_of(worker);
}

/// The first that is idle, where `another` may train on the device, else the first that trains and has a free slot.
std::optional<std::size_t> Placement::free_worker(const Admission::Launch& launch, const TrialNeeds& trial,
                                                  bool another, const std::vector<std::size_t>& released) const {
    for (const auto* workers : {another ? &idle_on_ : nullptr, &open_on_}) {
        if (!workers) continue;
        const auto there = workers->find(launch.device);
        if (there == workers->end()) continue;
        for (const std::size_t worker : there->second)
            if (takes(workers_[worker], trial, launch) && !contains(released, worker)) return worker;
    }
    return std::nullopt;
}

/// The worker for an admitted trial; nothing: none can take it now. An idle worker of another device is released then,
/// unless one of the trial's device is idle in a moment.
std::optional<PlacementDecision::Start> Placement::worker_for(const Admission::Launch& launch, const TrialNeeds& trial,
                                                              PlacementDecision& decision) const {
    const bool another = may_use_another(launch.device);
    if (const auto worker = free_worker(launch, trial, another, decision.release))
        return PlacementDecision::Start{launch, *worker, false};
    if (launch.joins) return std::nullopt;
    // A worker that is about to answer `plan` takes this trial next. While it answers, a further one with one slot may
    // start.
    const auto asked = asked_on_.find(launch.device);
    const bool answers = asked != asked_on_.end();
    if (answers && std::any_of(asked->second.begin(), asked->second.end(),
                               [&](std::size_t worker) { return workers_[worker].slots > 1; }))
        return std::nullopt;
    if (!another) {
        decision.limited = true;
        return std::nullopt;
    }
    if (!empty_.empty()) {
        if (!limits_.may_open) return std::nullopt;
        return PlacementDecision::Start{launch, *empty_.begin(), true};
    }
    if (answers) return std::nullopt;
    for (const std::size_t worker : idle_) {
        if (is_on(workers_[worker], launch) || contains(decision.release, worker)) continue;
        decision.release.push_back(worker);
        break;
    }
    return std::nullopt;
}

Reservation Placement::reservation_of(const PlacementDecision::Start& start) const {
    const TrialNeeds& needs = needs_of(start.launch.trial);
    return {needs.trial, start.launch.joins ? needs.colocated : needs.footprint, start.launch.device, needs.alone,
            start.launch.more};
}

std::size_t Placement::most_slots() const {
    return slots_.empty() ? 1 : std::max<std::size_t>(1, slots_.rbegin()->first);
}

std::size_t Placement::longest_queue(std::size_t workers) const {
    std::size_t free = 0;
    for (const std::size_t worker : with_key_)
        if (const std::size_t slots = slots_of(workers_[worker]); slots > workers_[worker].trials)
            free += slots - workers_[worker].trials;
    return queue_length(workers, free);
}

}  // namespace hpo
