#include "orchestrator/engine/trial_starts.hpp"

#include <algorithm>
#include <utility>

#include "hpo/text.hpp"
#include "orchestrator/scheduling/concurrency.hpp"
#include "orchestrator/scheduling/core_shares.hpp"
#include "orchestrator/scheduling/out_of_memory.hpp"
#include "orchestrator/scheduling/processes_cure.hpp"

namespace hpo {

namespace {

constexpr double wait_noticed_after = 3;  // seconds of waiting for other programs

/// Operations of an update's matrix products from which several threads pay: about 2 ms on one core.
constexpr double worth_sharing = 2e8;

}  // namespace

void TrialStarts::warm_up() {
    const EngineParts& parts = uses_.context.parts;
    if (!uses_.requirements.asks_workers() || (parts.on_device && !parts.host_too)) return;
    auto wanted = std::min(static_cast<std::int64_t>(uses_.pool.workers().size()), work_left());
    if (parts.host_too) wanted = std::min(wanted, static_cast<std::int64_t>(std::max(1.0, cores_of(machine()))));
    for (std::int64_t index = 0; index < wanted; ++index) {
        const auto worker = static_cast<WorkerIndex>(index);
        if (const auto host = host_of_worker(worker)) launch(worker, *host);
    }
}

void TrialStarts::start_trials() {
    is_read_ = false;
    unanswered_.clear();
    while (may_start_more()) {
        const PlacementDecision decision = find_work();
        if (!act_on(decision) && !look_further(decision)) return;
    }
}

bool TrialStarts::may_start_more() const {
    if (uses_.context.closing()) return false;
    if (!uses_.pool.can_take_trial(may_launch()) || !uses_.throughput.allows_another()) return false;
    return !first_trial_leads() || uses_.pool.with_trials() < at_once();
}

PlacementDecision TrialStarts::find_work() {
    choose_backends();
    if (uses_.placement.waiting() == 0) return {};
    uses_.placement.set_limits(limits());
    (void)machine();
    return uses_.placement.decide();
}

/// Returns true if another decision is due: a trial has started, was refused, or moves to the other side.
bool TrialStarts::act_on(const PlacementDecision& decision) {
    for (const auto& never : decision.never) refuse(never);
    if (uses_.context.closing()) return true;
    const auto& kept_out = decision.kept_out;
    const bool elsewhere = (kept_out && try_other_side(kept_out->trial)) || !wait_for_others(kept_out);
    for (const std::size_t idle : decision.release)
        uses_.pool.end(static_cast<WorkerIndex>(idle), "makes way for a worker on another device");
    if (decision.start) start(*decision.start);
    if (decision.start || !decision.release.empty()) is_read_ = false;
    return decision.start || !decision.never.empty() || elsewhere;
}

/// Looks for a smaller trial when no waiting one can start. Returns false if there is none, or if a worker must answer
/// first.
bool TrialStarts::look_further(const PlacementDecision& decision) {
    const Placement& placement = uses_.placement;
    const auto workers = std::min(uses_.pool.workers().size(), static_cast<std::size_t>(uses_.throughput.at_once()));
    const bool queue_is_full = placement.waiting() + unanswered_.size() >= placement.longest_queue(workers);
    const std::int64_t next = queue_is_full ? 0 : next_trial();
    if (next != 0) return find_requirements(next) || uses_.pool.any_idle_to_ask();
    const bool stuck = (queue_is_full || placement.waiting() > 0) && !decision.joins_soon && !decision.limited;
    if (stuck) uses_.pool.end_idle_but_one("frees memory for a waiting trial");
    return false;
}

// ---- Facts for placement.

/// Tells the pool for each worker whether its host answers at the moment, where there are several hosts.
void TrialStarts::find_unreachable() {
    if (!has_reading_ || reading_.hosts.size() < 2) return;
    const Machine now = uses_.machine.devices();
    const auto& workers = uses_.pool.workers();
    for (std::size_t index = 0; index < workers.size(); ++index)
        if (workers[index].state != Worker::State::empty) {
            const auto host = static_cast<std::size_t>(host_of(now, workers[index].device));
            uses_.pool.set_reachable(static_cast<WorkerIndex>(index), now.hosts[host].usable);
        }
}

/// Chooses the host or accelerators again for all waiting trials.
void TrialStarts::choose_backends() {
    if (!uses_.context.parts.host_too) return;
    std::vector<std::int64_t> waiting;
    for (const std::int64_t trial : uses_.context.parts.ledger.queued())
        if (!uses_.placement.holds(trial)) waiting.push_back(trial);
    uses_.backends.choose(waiting, machine());
}

/// Moves a trial that cannot run on its side to the other one. Returns false if it cannot run there either.
bool TrialStarts::try_other_side(std::int64_t trial) {
    return uses_.context.parts.host_too && uses_.requirements.try_other_side(trial);
}

/// Returns the side of the workers that can answer `plan` for the trial: any side, until one has told the work of a
/// step.
Side TrialStarts::side_of(std::int64_t trial) const {
    if (!uses_.context.parts.host_too) return Side::any;
    const TrialRequirements* needs = uses_.requirements.find(trial);
    if (!needs || (!needs->work && !needs->runs_on_one_side() && !needs->on_host)) return Side::any;
    return needs->on_host ? Side::host : Side::device;
}

PlacementLimits TrialStarts::limits() {
    const Study& study = uses_.context.parts.study;
    const std::size_t slots = uses_.placement.most_slots();
    PlacementLimits limits;
    limits.parallel =
        most_at_once(study, static_cast<std::int64_t>(uses_.pool.workers().size()), static_cast<std::int64_t>(slots));
    limits.may_open = may_launch();
    if (const auto& awaits = uses_.context.parts.awaits_hosts) limits.grows = awaits();
    uses_.throughput.limit(limits, slots);
    if (first_trial_leads()) limits.parallel = std::min(at_once(), limits.parallel.value_or(at_once()));
    if (uses_.context.parts.host_too) keep_cores_for_devices(limits);
    return limits;
}

/// Keeps a core for each worker on a device that trains, or that is about to answer `plan` for its first trial.
void TrialStarts::keep_cores_for_devices(PlacementLimits& limits) {
    const auto& to_ask = uses_.placement.without_needs();
    const bool asks =
        std::any_of(to_ask.begin(), to_ask.end(), [&](std::int64_t trial) { return side_of(trial) == Side::device; });
    const auto takes_core = [&](const Worker& worker) {
        if (worker.state == Worker::State::empty || is_host(worker.device)) return false;
        return worker.state == Worker::State::starting || worker.planning != 0 || !worker.jobs.empty() || asks;
    };
    const auto& workers = uses_.pool.workers();
    std::vector<std::int64_t> taken(machine().hosts.size());
    for (const Worker& worker : workers)
        if (takes_core(worker)) ++taken[static_cast<std::size_t>(host_of(machine(), worker.device))];
    for (std::size_t host = 0; host < taken.size(); ++host) {
        if (taken[host] == 0) continue;
        const int place = on_host(static_cast<int>(host));
        const auto left =
            std::max<std::int64_t>(0, static_cast<std::int64_t>(machine().hosts[host].cores) - taken[host]);
        const auto own = limits.workers_on.find(place);
        const auto most = own == limits.workers_on.end() ? limits.workers_each : std::optional(own->second);
        limits.workers_on[place] = std::min(left, most.value_or(left));
    }
}

/// Usable hosts get the workers that compute on their cores in turn; nothing: there is none.
std::optional<int> TrialStarts::host_of_worker(WorkerIndex index) {
    std::vector<int> usable;
    for (std::size_t host = 0; host < machine().hosts.size(); ++host)
        if (machine().hosts[host].usable) usable.push_back(on_host(static_cast<int>(host)));
    if (usable.empty()) return std::nullopt;
    return usable[static_cast<std::size_t>(index) % usable.size()];
}

/// Returns the machine as of the last start, which placement has, too.
const Machine& TrialStarts::machine() {
    const Machine* fixed = uses_.machine.unchanging();
    if (fixed) {
        if (std::exchange(fixed_, fixed) != fixed) uses_.placement.set_machine(*fixed);
        return *fixed;
    }
    if (!std::exchange(is_read_, true) || fixed_) take_reading(uses_.machine.for_trials());
    return reading_;
}

/// Tells placement the hosts of a new reading, or the whole machine if it has other places than the last one.
void TrialStarts::take_reading(Machine reading) {
    const bool was_fixed = std::exchange(fixed_, nullptr) != nullptr;
    const bool is_placed = std::exchange(has_reading_, true) && !was_fixed &&
                           reading.hosts.size() == reading_.hosts.size() &&
                           reading.accelerators.size() == reading_.accelerators.size();
    reading_ = std::move(reading);
    if (!is_placed) return uses_.placement.set_machine(reading_);
    for (std::size_t host = 0; host < reading_.hosts.size(); ++host)
        uses_.placement.host_changed(static_cast<int>(host));
}

/// Returns true if the study's first trial has several cores before others begin. Rules and samplers compare other
/// curves with its curve, and the default sampler makes it the middle of the space, which is usually a good
/// configuration. No time is lost, as all cores compute.
bool TrialStarts::first_trial_leads() const {
    const EngineParts& parts = uses_.context.parts;
    const auto& trials = parts.ledger.record().trials;
    if (parts.cores.size() < 2 || parts.on_device || parts.study.resources.parallel) return false;
    if (trials.empty()) return parts.study.budget.trials > 1;
    const TrialRecord& first = uses_.context.trial(1);
    if (first.state != TrialState::queued && first.state != TrialState::running) return false;
    if (std::ranges::find(trials, TrialState::complete, &TrialRecord::state) != trials.end()) return false;
    const TrialRequirements* needs = uses_.requirements.find(1);
    return !needs || !needs->work || needs->work->flops / std::max(1.0, needs->work->updates) >= worth_sharing;
}

std::int64_t TrialStarts::at_once() const {
    const std::int64_t all = uses_.throughput.at_once();
    return first_trial_leads() ? std::max<std::int64_t>(1, all - cores_of_first_trial + 1) : all;
}

bool TrialStarts::may_launch() const {
    return uses_.launches.may_launch(uses_.pool.any_starting(), uses_.context.now());
}

/// Tells the user once which trial waits, after a few seconds, since readings may still count ended processes as other
/// programs. Returns false if the trial settles for less memory and must be placed again.
bool TrialStarts::wait_for_others(const std::optional<Admission::Reason>& kept_out) {
    const Seconds now = uses_.context.now();
    const std::int64_t trial = kept_out ? kept_out->trial : 0;
    if (std::exchange(waiting_trial_, trial) != trial) waits_since_ = now;
    if (!kept_out) {
        waits_.clear();
        return true;
    }
    const double waited = (now - waits_since_).count();
    if (waited < wait_noticed_after) return true;
    if (waits_.empty()) uses_.context.say(Notice::Level::warning, trial, "waits: " + kept_out->text);
    waits_ = "trial " + std::to_string(trial) + ' ' + kept_out->text;
    if (waited < longest_wait_for_others || !uses_.requirements.settle_for_less(trial, machine())) return true;
    waits_since_ = now;  // it may have to wait again
    uses_.context.say(
        Notice::Level::warning, trial,
        "has waited " + duration_text(waited) + " for memory: tries with the memory that other programs leave");
    return false;
}

void TrialStarts::launch(WorkerIndex index, int device, const std::vector<int>& more) {
    const LaunchSpec spec = uses_.context.parts.worker(index, devices_of({.device = device, .more = more}));
    uses_.pool.launch(index, spec, device, more);
}

/// Starts a trial in a ready worker at once, or in a new worker after its hello.
void TrialStarts::start(const PlacementDecision::Start& start) {
    const auto index = static_cast<WorkerIndex>(start.worker);
    Reservation reservation = uses_.placement.reservation_of(start);
    if (start.opens) launch(index, start.launch.device, start.launch.more);
    const TrialNeeds& needs = uses_.requirements.of(reservation.trial);
    Job& job = uses_.pool.reserve(index, start.launch.joins, needs, std::move(reservation));
    if (!start.opens) uses_.attempts.begin(index, job);
}

void TrialStarts::worker_ready(WorkerIndex index, const from_worker::Hello& hello) {
    uses_.launches.succeeded();
    if (!uses_.pool.greet(index, hello)) return;
    const Worker& worker = uses_.pool.at(index);
    if (worker.more.empty()) uses_.forecasts.greeted(worker.device, hello.identity);
    for (const int device : devices_of({.device = worker.device, .more = worker.more}))
        if (!is_host(device)) uses_.health.started(device);
    if (uses_.requirements.learn_capabilities(worker)) uses_.requirements.recall(uses_.machine.for_trials());
    if (worker.jobs.empty()) return;
    const AttemptId reserved = worker.jobs.front().id;
    const std::int64_t trial = reserved.trial;
    if (uses_.context.trial(trial).state == TrialState::queued && uses_.requirements.known(trial))
        return uses_.attempts.begin(index, *uses_.pool.find(index, reserved));
    uses_.pool.let_go(index, reserved);
    uses_.ends.announce(trial);  // a user may have stopped it meanwhile
}

void TrialStarts::planned(WorkerIndex index, const from_worker::PlanAnswer& answer) {
    const Worker& worker = uses_.pool.at(index);
    if (answer.id != worker.planning || worker.state != Worker::State::ready) return;
    uses_.pool.plan_answered(index);
    if (is_final(uses_.context.trial(answer.id).state)) return uses_.ends.announce(answer.id);
    const bool on_host = is_host(worker.device);
    if (!answer.error.empty()) {
        uses_.requirements.choose(answer.id, on_host && uses_.context.parts.host_too, 0, {});
        if (try_other_side(answer.id)) return;
        return uses_.ends.fail(answer.id, answer.error, answer.error);
    }
    uses_.requirements.answered(answer, on_host, uses_.machine.is_unified(worker.device));
}

/// Returns true if the trial's requirements are known. Otherwise asks a worker, or starts one.
bool TrialStarts::find_requirements(std::int64_t trial) {
    if (uses_.requirements.known(trial)) return true;
    if (uses_.requirements.asks_workers()) return ask_a_worker(trial), false;
    uses_.requirements.predict(trial, machine());
    return true;
}

/// Asks a worker, or starts one, unless a present worker can be asked soon.
void TrialStarts::ask_a_worker(std::int64_t trial) {
    const Study& study = uses_.context.parts.study;
    const Side side = side_of(trial);
    if (const auto free = uses_.pool.first_to_ask(side)) {
        uses_.pool.ask_plan(*free, {trial, uses_.requirements.configuration(trial), study.budget.epochs, study.seed});
        return;
    }
    unanswered_.insert(trial);
    if (uses_.pool.any_to_ask_soon(side) || !may_launch()) return;
    const bool on_host = !uses_.context.parts.on_device || (uses_.context.parts.host_too && side != Side::device);
    // A further worker on the host would have no core to compute on.
    if (uses_.context.parts.host_too && on_host && double(uses_.pool.on_host()) >= cores_of(machine())) return;
    const auto empty = uses_.pool.first_empty();
    const auto device = on_host ? host_of_worker(empty.value_or(0)) : uses_.machine.usable_device();
    if (device && empty) return launch(*empty, *device);
    if (side == Side::any || empty) return;
    if (const auto idle = uses_.pool.first_idle(on_host ? Side::device : Side::host))
        uses_.pool.end(*idle, "makes way for a worker on another device");
}

/// Divides the batch of a trial that does not fit the empty machine into smaller micro-batches, or ends it as failed.
void TrialStarts::refuse(const Admission::Reason& never) {
    if (try_other_side(never.trial)) return;
    if (uses_.requirements.shrink(never.trial, never.text)) return;
    const std::int64_t micro_batches = uses_.requirements.of(never.trial).micro_batches;
    const std::string split =
        micro_batches == 0 ? "" : ", even in " + std::to_string(micro_batches) + " micro-batches, one sample each";
    uses_.ends.fail(never.trial, never.text + split + cure_for_processes(uses_.context.parts.study), "does not fit");
}

/// Returns a queued trial with unknown requirements, else a further one; 0: none.
std::int64_t TrialStarts::next_trial() {
    for (const std::int64_t trial : uses_.placement.without_needs())
        if (!unanswered_.contains(trial)) return trial;
    const bool is_first = uses_.context.parts.ledger.record().trials.empty();
    if (!is_first && first_trial_leads() && !uses_.requirements.known(1))
        return 0;  // the first trial starts before others
    return uses_.supply.further_trial();
}

std::int64_t TrialStarts::work_left() const {
    const EngineParts& parts = uses_.context.parts;
    auto work = static_cast<std::int64_t>(uses_.placement.without_needs().size() + uses_.placement.waiting());
    if (uses_.supply.may_propose())
        work += parts.study.budget.trials - static_cast<std::int64_t>(parts.ledger.record().trials.size());
    else if (uses_.supply.to_repeat())
        ++work;
    return work + static_cast<std::int64_t>(uses_.supply.promotions(uses_.pool.workers().size()).size());
}

}  // namespace hpo
