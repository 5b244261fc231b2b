#include "orchestrator/engine/dispatcher.hpp"

#include <algorithm>
#include <utility>

#include "orchestrator/scheduling/concurrency.hpp"

namespace hpo {

namespace {

constexpr double wait_noticed_after = 3;  // seconds that a trial has waited for other programs

bool can_be_asked(const Worker& worker) {
    // One with many slots answers while it trains.
    return worker.plans && worker.state == Worker::State::ready && worker.planning == 0 &&
           (worker.slots > 1 || worker.jobs.empty());
}

bool answers_soon(const Worker& worker) {
    return worker.state == Worker::State::starting ||
           (worker.state == Worker::State::ready && worker.plans && worker.slots > 1);
}

}  // namespace

void Dispatcher::warm_up() {
    if (!uses_.requirements.asks_workers() || uses_.context.parts.on_device) return;
    const auto wanted = std::min(static_cast<std::int64_t>(uses_.pool.workers().size()), work_left());
    for (std::int64_t index = 0; index < wanted; ++index) launch(static_cast<WorkerIndex>(index), host_only);
}

void Dispatcher::place_trials() {
    const auto& workers = uses_.pool.workers();
    const auto most = std::min(workers.size(), static_cast<std::size_t>(uses_.throughput.at_once()));
    std::optional<Machine> reading;  // until a trial starts or a worker leaves
    const auto machine = [&]() -> const Machine& {
        if (!reading) reading = uses_.machine.for_trials();
        return *reading;
    };
    while (!uses_.context.closing() && uses_.pool.has_room(may_launch()) && uses_.throughput.has_room()) {
        const PlacementState now = any_placeable() ? state() : PlacementState{};
        const PlacementDecision decision = now.queue.empty() ? PlacementDecision{} : place(now, machine());
        for (const auto& never : decision.never) refuse(never);
        if (uses_.context.closing()) return;
        tell_who_waits(decision.kept_out);
        for (const std::size_t idle : decision.release)
            uses_.pool.end(static_cast<WorkerIndex>(idle), "makes way for a worker on another device");
        if (decision.start) start(*decision.start, reservation_of(now, *decision.start));
        if (decision.start || !decision.release.empty()) reading.reset();
        if (!decision.never.empty() || decision.start) continue;

        // A smaller trial than the one that does not fit may be the next one.
        const bool queue_is_full = now.queue.size() >= longest_queue(now, most);
        const std::int64_t next = queue_is_full ? 0 : next_trial();
        if (next == 0) {
            const bool stuck = (queue_is_full || !now.queue.empty()) && !decision.joins_soon && !decision.limited;
            if (stuck) uses_.pool.end_idle_but_one("frees memory for a waiting trial");
            return;
        }
        const bool more_to_ask =
            std::any_of(workers.begin(), workers.end(), [](const Worker& w) { return w.idle() && w.plans; });
        if (!find_requirements(next, machine) && !more_to_ask) return;
    }
}

/// A queued trial whose requirements are known waits for a worker.
bool Dispatcher::is_placeable(std::int64_t trial) const {
    return uses_.requirements.known(trial) && !uses_.attempts.hold(trial);
}

bool Dispatcher::any_placeable() const {
    const auto& queued = uses_.context.parts.ledger.queued();
    return std::any_of(queued.begin(), queued.end(), [this](std::int64_t trial) { return is_placeable(trial); });
}

/// What placing has to know: the workers, what trials in them have reserved, and queued trials whose requirements are
/// known.
PlacementState Dispatcher::state() const {
    const Study& study = uses_.context.parts.study;
    PlacementState state;
    for (const Worker& worker : uses_.pool.workers())
        state.workers.push_back({.state = worker.state,
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
    for (HeldResources& held : held_resources()) state.reservations.push_back(std::move(held.reservation));
    for (const std::int64_t trial : uses_.context.parts.ledger.queued()) {
        if (!is_placeable(trial)) continue;
        const TrialRequirements* needs = uses_.requirements.known(trial);
        state.queue.push_back({.trial = trial,
                               .footprint = needs->footprint,
                               .colocated = needs->colocated,
                               .alone = needs->alone,
                               .fusion_key = needs->fusion_key,
                               .own_worker = needs->own_worker});
    }
    state.on_device = uses_.context.parts.on_device;
    state.devices = static_cast<std::size_t>(study.resources.trial.gpus);
    state.parallel = most_at_once(study, static_cast<std::int64_t>(state.workers.size()),
                                  static_cast<std::int64_t>(most_slots_of(state)));
    state.may_open = may_launch();
    uses_.throughput.limit(state);
    return state;
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
    worker.planning = 0;
    uses_.context.placement_due = true;
    if (is_final(uses_.context.trial(answer.id).state)) return uses_.ends.announce(answer.id);
    if (!answer.error.empty()) return uses_.ends.fail(answer.id, answer.error, answer.error);
    uses_.requirements.answered(answer, uses_.machine.is_unified(worker.device));
}

/// What the trial needs is known now, or (false) a worker was asked or has to come first.
bool Dispatcher::find_requirements(std::int64_t trial, const std::function<const Machine&()>& machine) {
    if (uses_.requirements.known(trial)) return true;
    if (uses_.requirements.asks_workers()) return ask_a_worker(trial), false;
    uses_.requirements.predict(trial, machine());
    return true;
}

/// A worker that can be asked; else one is started, unless one that is there can be soon.
void Dispatcher::ask_a_worker(std::int64_t trial) {
    const Study& study = uses_.context.parts.study;
    const auto& workers = uses_.pool.workers();
    const auto index_of = [&](auto worker) { return static_cast<WorkerIndex>(worker - workers.begin()); };
    if (const auto free = std::find_if(workers.begin(), workers.end(), can_be_asked); free != workers.end()) {
        uses_.pool.ask_plan(index_of(free),
                            {trial, uses_.requirements.configuration(trial), study.budget.epochs, study.seed});
        return;
    }
    if (std::any_of(workers.begin(), workers.end(), answers_soon)) return;
    const auto empty =
        std::find_if(workers.begin(), workers.end(), [](const Worker& w) { return w.state == Worker::State::empty; });
    if (empty == workers.end() || !may_launch()) return;
    const auto device = uses_.context.parts.on_device ? uses_.machine.usable_device() : std::optional(host_only);
    if (device) launch(index_of(empty), *device);
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
    for (const std::int64_t trial : uses_.context.parts.ledger.queued())
        if (!uses_.requirements.known(trial) && !uses_.attempts.hold(trial)) return trial;
    return uses_.supply.further_trial();
}

std::int64_t Dispatcher::work_left() const {
    const EngineParts& parts = uses_.context.parts;
    std::int64_t work = 0;
    for (const std::int64_t trial : parts.ledger.queued())
        if (!uses_.attempts.hold(trial)) ++work;
    if (uses_.supply.may_propose())
        work += parts.study.budget.trials - static_cast<std::int64_t>(parts.ledger.record().trials.size());
    return work + static_cast<std::int64_t>(uses_.supply.promotions(uses_.pool.workers().size()).size());
}

}  // namespace hpo
