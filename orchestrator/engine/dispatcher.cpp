#include "orchestrator/engine/dispatcher.hpp"

#include <algorithm>
#include <utility>

#include "orchestrator/scheduling/concurrency.hpp"

namespace hpo {

namespace {

constexpr double wait_noticed_after = 3;  // seconds that a trial has waited for other programs

}  // namespace

Dispatcher::Dispatcher(const Uses& uses) : uses_(uses) {
    Ledger& ledger = uses_.context.parts.ledger;
    queue_changes_.assign(ledger.queued().begin(), ledger.queued().end());
    ledger.on_queue_change = [this](std::int64_t trial) { queue_changes_.push_back(trial); };
}

void Dispatcher::warm_up() {
    if (!uses_.requirements.asks_workers() || uses_.context.parts.on_device) return;
    const auto wanted = std::min(static_cast<std::int64_t>(uses_.pool.workers().size()), work_left());
    for (std::int64_t index = 0; index < wanted; ++index) launch(static_cast<WorkerIndex>(index), host_only);
}

void Dispatcher::place_trials() {
    const auto most = std::min(uses_.pool.workers().size(), static_cast<std::size_t>(uses_.throughput.at_once()));
    is_read_ = false;
    while (!uses_.context.closing() && uses_.pool.has_room(may_launch()) && uses_.throughput.has_room()) {
        catch_up();
        PlacementDecision decision;
        const bool any_waits = placer_.waiting() > 0;
        if (any_waits) {
            placer_.set_limits(limits());
            (void)machine();
            decision = placer_.decide();
        }
        for (const auto& never : decision.never) refuse(never);
        if (uses_.context.closing()) return;
        tell_who_waits(decision.kept_out);
        for (const std::size_t idle : decision.release)
            uses_.pool.end(static_cast<WorkerIndex>(idle), "makes way for a worker on another device");
        if (decision.start) start(*decision.start, placer_.reservation_of(*decision.start));
        if (decision.start || !decision.release.empty()) is_read_ = false;
        if (!decision.never.empty() || decision.start) continue;

        // A smaller trial than the one that does not fit may be the next one.
        const bool queue_is_full = placer_.waiting() >= placer_.longest_queue(most);
        const std::int64_t next = queue_is_full ? 0 : next_trial();
        if (next == 0) {
            const bool stuck = (queue_is_full || any_waits) && !decision.joins_soon && !decision.limited;
            if (stuck) uses_.pool.end_idle_but_one("frees memory for a waiting trial");
            return;
        }
        if (!find_requirements(next) && !uses_.pool.any_idle_to_ask()) return;
    }
}

// ---- What placing has to know.

/// Of the other parts only what has changed is read, so that a decision does not cost more the more there is.
void Dispatcher::catch_up() {
    WorkerPool::Changes changed = uses_.pool.take_changes();
    std::vector<std::int64_t> trials = std::exchange(queue_changes_, {});
    trials.insert(trials.end(), changed.trials.begin(), changed.trials.end());
    for (const std::int64_t trial : uses_.requirements.take_changes()) {
        trials.push_back(trial);
        if (const auto worker = uses_.pool.worker_of(trial)) changed.workers.push_back(*worker);
    }
    if (const auto diagnosed = uses_.diagnoses.take_changes(); !diagnosed.empty()) {
        trials.insert(trials.end(), diagnosed.begin(), diagnosed.end());
        for (const std::int64_t order : std::exchange(diagnosed_, {})) placer_.release(order);
        for (const PendingDiagnosis& diagnosis : uses_.diagnoses.all()) diagnosed_.push_back(diagnosis.job.order);
    }
    for (const WorkerIndex worker : changed.workers) enter_worker(worker);
    // After the workers, one of which may have held it until a moment ago.
    for (const PendingDiagnosis& diagnosis : uses_.diagnoses.all())
        placer_.hold(diagnosis.job.order, diagnosis.job.held.reservation);
    for (const std::int64_t trial : trials) enter_trial(trial);
}

void Dispatcher::enter_worker(WorkerIndex index) {
    const Worker& worker = std::as_const(uses_.pool).at(index);
    const auto at = static_cast<std::size_t>(index);
    placer_.set_worker(at, {.state = worker.state,
                            .device = worker.device,
                            .more = worker.more,
                            .fusion_key = worker.fusion_key,
                            .slots = worker.slots,
                            .trials = worker.jobs.size(),
                            .plans = worker.plans,
                            .asked = worker.planning != 0,
                            .exclusive = std::any_of(worker.jobs.begin(), worker.jobs.end(), [&](const Job& job) {
                                return uses_.requirements.wants_own_worker(job.id.trial);
                            })});
    std::vector<Reserved> now;
    for (const Job& job : worker.jobs) now.push_back({job.order, job.held.reservation});
    if (at >= holds_.size()) holds_.resize(at + 1);
    if (holds_[at] == now) return;
    for (const Reserved& before : holds_[at]) placer_.release(before.order);
    for (const Reserved& held : now) placer_.hold(held.order, held.reservation);
    holds_[at] = std::move(now);
}

/// A queued trial that no worker has waits for one if its requirements are known.
void Dispatcher::enter_trial(std::int64_t trial) {
    const bool waits = uses_.context.parts.ledger.queued().contains(trial) && !uses_.attempts.hold(trial);
    const TrialRequirements* needs = waits ? uses_.requirements.known(trial) : nullptr;
    if (waits && !needs)
        unknown_.insert(trial);
    else
        unknown_.erase(trial);
    if (!needs) return placer_.dequeue(trial);
    placer_.enqueue(trial, {.trial = trial,
                            .footprint = needs->footprint,
                            .colocated = needs->colocated,
                            .alone = needs->alone,
                            .fusion_key = needs->fusion_key,
                            .own_worker = needs->own_worker});
}

PlacementLimits Dispatcher::limits() const {
    const Study& study = uses_.context.parts.study;
    const std::size_t slots = placer_.most_slots();
    PlacementLimits limits;
    limits.on_device = uses_.context.parts.on_device;
    limits.devices = static_cast<std::size_t>(study.resources.trial.gpus);
    limits.parallel =
        most_at_once(study, static_cast<std::int64_t>(uses_.pool.workers().size()), static_cast<std::int64_t>(slots));
    limits.may_open = may_launch();
    uses_.throughput.limit(limits, slots);
    return limits;
}

/// As of the last start; placer_ has been given it.
const Machine& Dispatcher::machine() {
    const Machine* fixed = uses_.machine.unchanging();
    if (fixed) {
        if (std::exchange(fixed_, fixed) != fixed) placer_.set_machine(*fixed);
        return *fixed;
    }
    if (!std::exchange(is_read_, true) || fixed_) {
        fixed_ = nullptr;
        reading_ = uses_.machine.for_trials();
        placer_.set_machine(reading_);
    }
    return reading_;
}

std::vector<HeldResources> Dispatcher::held_resources() const {
    std::vector<const Job*> launched;
    for (const Worker& worker : uses_.pool.workers())
        for (const Job& job : worker.jobs) launched.push_back(&job);
    for (const PendingDiagnosis& diagnosis : uses_.diagnoses.all()) launched.push_back(&diagnosis.job);
    std::sort(launched.begin(), launched.end(), [](const Job* a, const Job* b) { return a->order < b->order; });
    std::vector<HeldResources> all;
    all.reserve(launched.size());
    for (const Job* job : launched) all.push_back(job->held);
    return all;
}

bool Dispatcher::may_launch() const {
    return uses_.launches.may_launch(uses_.pool.any_starting(), uses_.context.now());
}

/// Once, when it has lasted: what has just ended may still be in the readings as others' use.
void Dispatcher::tell_who_waits(const std::optional<Admission::Reason>& kept_out) {
    if (!kept_out) {
        waits_since_.reset();
        waits_.clear();
        return;
    }
    const Seconds now = uses_.context.now();
    if (!waits_since_) waits_since_ = now;
    if ((now - *waits_since_).count() < wait_noticed_after) return;
    if (waits_.empty()) uses_.context.say(Notice::Level::warning, kept_out->trial, "waits: " + kept_out->text);
    waits_ = "trial " + std::to_string(kept_out->trial) + ' ' + kept_out->text;
}

void Dispatcher::launch(WorkerIndex index, int device, const std::vector<int>& more) {
    const LaunchSpec spec = uses_.context.parts.worker(index, devices_of({.device = device, .more = more}));
    uses_.pool.launch(index, spec, device, more);
}

/// In a worker that is ready, which begins at once, or in a new one, which begins after its hello.
void Dispatcher::start(const PlacementDecision::Start& start, Reservation reservation) {
    const auto index = static_cast<WorkerIndex>(start.worker);
    if (start.opens) launch(index, start.launch.device, start.launch.more);
    const std::string fusion_key = uses_.requirements.of(reservation.trial).fusion_key;
    Job& job = uses_.pool.reserve(index, start.launch.joins, fusion_key, std::move(reservation));
    if (!start.opens) uses_.attempts.begin(index, job);
}

void Dispatcher::worker_ready(WorkerIndex index, const from_worker::Hello& hello) {
    uses_.launches.succeeded();
    if (!uses_.pool.greet(index, hello)) return;
    Worker& worker = uses_.pool.at(index);
    if (worker.more.empty()) uses_.forecasts.greeted(worker.device, hello.identity);
    for (const int device : devices_of({.device = worker.device, .more = worker.more}))
        if (device != host_only) uses_.health.started(device);
    uses_.context.placement_due = true;
    if (uses_.requirements.learn_capabilities(worker)) uses_.requirements.recall(uses_.machine.for_trials());
    if (worker.jobs.empty()) return;
    Job& job = worker.jobs.front();
    const std::int64_t trial = job.id.trial;
    if (uses_.context.trial(trial).state == TrialState::queued && uses_.requirements.known(trial))
        return uses_.attempts.begin(index, job);
    uses_.pool.let_go(index, job.id);
    uses_.ends.announce(trial);  // a user may have stopped it meanwhile
}

void Dispatcher::planned(WorkerIndex index, const from_worker::PlanAnswer& answer) {
    Worker& worker = uses_.pool.at(index);
    if (answer.id != worker.planning || worker.state != Worker::State::ready) return;
    uses_.pool.plan_answered(index);
    uses_.context.placement_due = true;
    if (is_final(uses_.context.trial(answer.id).state)) return uses_.ends.announce(answer.id);
    if (!answer.error.empty()) return uses_.ends.fail(answer.id, answer.error, answer.error);
    uses_.requirements.answered(answer, uses_.machine.is_unified(worker.device));
}

/// What the trial needs is known now, or (false) a worker was asked or has to come first.
bool Dispatcher::find_requirements(std::int64_t trial) {
    if (uses_.requirements.known(trial)) return true;
    if (uses_.requirements.asks_workers()) return ask_a_worker(trial), false;
    uses_.requirements.predict(trial, machine());
    return true;
}

/// A worker that can be asked; else one is started, unless one that is there can be soon.
void Dispatcher::ask_a_worker(std::int64_t trial) {
    const Study& study = uses_.context.parts.study;
    if (const auto free = uses_.pool.first_to_ask()) {
        uses_.pool.ask_plan(*free, {trial, uses_.requirements.configuration(trial), study.budget.epochs, study.seed});
        return;
    }
    if (uses_.pool.any_to_ask_soon()) return;
    const auto empty = uses_.pool.first_empty();
    if (!empty || !may_launch()) return;
    const auto device = uses_.context.parts.on_device ? uses_.machine.usable_device() : std::optional(host_only);
    if (device) launch(*empty, *device);
}

/// Too large for the empty machine: in smaller micro-batches, else not at all.
void Dispatcher::refuse(const Admission::Reason& never) {
    if (uses_.requirements.shrink(never.trial, never.text)) return;
    const std::int64_t micro_batches = uses_.requirements.of(never.trial).micro_batches;
    uses_.ends.fail(never.trial,
                    never.text + (micro_batches == 0 ? ""
                                                     : ", even in " + std::to_string(micro_batches) +
                                                           " micro-batches, one sample each"),
                    "does not fit");
}

/// A queued trial whose requirements are not known, else a further one. 0: none.
std::int64_t Dispatcher::next_trial() {
    catch_up();
    return unknown_.empty() ? uses_.supply.further_trial() : *unknown_.begin();
}

std::int64_t Dispatcher::work_left() {
    catch_up();
    const EngineParts& parts = uses_.context.parts;
    auto work = static_cast<std::int64_t>(unknown_.size() + placer_.waiting());
    if (uses_.supply.may_propose())
        work += parts.study.budget.trials - static_cast<std::int64_t>(parts.ledger.record().trials.size());
    return work + static_cast<std::int64_t>(uses_.supply.promotions(uses_.pool.workers().size()).size());
}

}  // namespace hpo
