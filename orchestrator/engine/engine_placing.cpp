// Which trial goes where: needs are found out, the planner (scheduling/plan.hpp) admits, workers take.
#include <algorithm>
#include <utility>

#include "hpo/random.hpp"
#include "orchestrator/engine/engine.hpp"
#include "orchestrator/engine/text.hpp"
#include "orchestrator/scheduling/concurrency.hpp"

namespace hpo {

namespace {

constexpr double told_after = 3;  // seconds that a trial has waited for other programs

}  // namespace

/// One trial after the other: each changes what is left, and what the machine has is read before each.
void Engine::place_trials() {
    while (!closing_ && can_start()) {
        const PlacementState state = placement_state();
        const PlacementDecision decision = place(state, read_machine());
        for (const auto& never : decision.never) refuse(never);
        if (closing_) return;
        tell_who_waits(decision.kept_out);
        for (const std::size_t idle : decision.release)
            leave(static_cast<WorkerIndex>(idle), "makes way for a worker on another device");
        if (decision.start) start_trial(*decision.start, reservation_of(state, *decision.start));
        if (!decision.never.empty() || decision.start) continue;

        // Look a little further than the trial that does not fit, for a smaller one.
        const bool queue_is_full = state.queue.size() >= longest_queue(state, workers_.size());
        const std::int64_t next = queue_is_full ? 0 : next_trial();
        if (next == 0) {
            const bool stuck = (queue_is_full || !state.queue.empty()) && !decision.joins_soon;
            return stuck ? release_idle_workers() : void();
        }
        const bool more_to_ask =
            std::any_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.idle() && w.plans; });
        if (!find_requirements(next) && !more_to_ask) return;
    }
}

/// What placing has to know: the workers, what trials in them have reserved, and queued trials whose requirements are
/// known.
PlacementState Engine::placement_state() const {
    PlacementState state;
    for (const Worker& worker : workers_)
        state.workers.push_back({.state = worker.state,
                                 .device = worker.device,
                                 .more = worker.more,
                                 .fusion_key = worker.fusion_key,
                                 .slots = worker.slots,
                                 .trials = worker.jobs.size(),
                                 .plans = worker.plans,
                                 .asked = worker.planning != 0,
                                 .exclusive = is_exclusive(worker)});
    for (HeldResources& held : held_resources()) state.reservations.push_back(std::move(held.reservation));
    for (const std::int64_t trial : parts_.ledger.queued()) {
        const auto found = requirements_.find(trial);
        if (found == requirements_.end() || !found->second.known || assigned(trial)) continue;
        const Requirements& needs = found->second;
        state.queue.push_back({.trial = trial,
                               .footprint = needs.footprint,
                               .colocated = needs.colocated,
                               .alone = needs.alone,
                               .fusion_key = needs.fusion_key,
                               .own_worker = needs.own_worker});
    }
    state.on_device = parts_.on_device;
    state.devices = static_cast<std::size_t>(parts_.study.resources.trial.gpus);
    state.parallel = most_at_once(parts_.study, static_cast<std::int64_t>(workers_.size()),
                                  static_cast<std::int64_t>(most_slots_of(state)));
    state.may_open = may_open();
    return state;
}

/// Once, when it has lasted: what has just ended may still be in the readings as others' use.
void Engine::tell_who_waits(const std::optional<Admission::Reason>& kept_out) {
    const Seconds now = parts_.clock.now();
    if (!kept_out) {
        waits_since_.reset();
        waits_.clear();
        return;
    }
    if (!waits_since_) waits_since_ = now;
    if ((now - *waits_since_).count() < told_after) return;
    if (waits_.empty()) say(Notice::Level::warning, kept_out->trial, "waits: " + kept_out->text);
    waits_ = "trial " + std::to_string(kept_out->trial) + ' ' + kept_out->text;
}

/// A worker could take a trial, or be started for one.
bool Engine::can_start() const {
    const bool opens = may_open();
    return std::any_of(workers_.begin(), workers_.end(), [opens](const Worker& w) {
        return (opens && w.state == State::empty) ||
               (w.state == State::ready && w.planning == 0 && w.jobs.size() < w.slots);
    });
}

/// In a shortage one worker at a time is tried, after a pause.
bool Engine::may_open() const {
    if (!shortage_) return true;
    return parts_.clock.now() >= shortage_->until &&
           std::none_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.state == State::starting; });
}

/// One of its trials wants it for itself.
bool Engine::is_exclusive(const Worker& worker) const {
    return std::any_of(worker.jobs.begin(), worker.jobs.end(), [this](const Job& job) {
        const auto requirements = requirements_.find(job.id.trial);
        return requirements != requirements_.end() && requirements->second.own_worker;
    });
}

/// What the machine has for trials. The memory of one idle worker is free for the trial that it would take; that of
/// further ones is in use until they take one or leave.
Machine Engine::read_machine() const {
    std::vector<std::int64_t> workers;
    std::int64_t reusable = 0;
    for (const Worker& worker : workers_) {
        if (worker.spent) continue;  // nothing is reserved for it any more: what it holds is in use like others'
        if (!worker.idle())
            workers.push_back(worker.pid);
        else if (reusable == 0)
            reusable = worker.pid;
    }
    std::erase(workers, 0);
    Machine machine = machine_now(workers, reusable);
    health_.set_cooling_aside(machine, parts_.clock.now());
    return machine;
}

/// In a worker that is ready, which begins at once, or in a new one, which begins when it has said hello.
void Engine::start_trial(const PlacementDecision::Start& start, Reservation reservation) {
    const auto index = static_cast<WorkerIndex>(start.worker);
    if (start.opens) open(index, start.launch.device, start.launch.more);
    reserve(index, start.launch.joins, std::move(reservation));
    if (!start.opens) run(index, workers_.at(start.worker).jobs.back());
}

void Engine::open(WorkerIndex index, int device, const std::vector<int>& more) {
    Worker worker;
    worker.state = State::starting;
    worker.device = device;
    worker.more = more;
    worker.heard = parts_.clock.now();
    const LaunchSpec spec = parts_.worker(index, devices_of({.device = device, .more = more}));
    worker.environment = spec.told;
    workers_.at(static_cast<std::size_t>(index)) = std::move(worker);
    parts_.executor.launch(index, spec);
}

void Engine::reserve(WorkerIndex index, bool joins, Reservation reservation) {
    Worker& worker = workers_.at(static_cast<std::size_t>(index));
    Job job;
    job.id = {reservation.trial, 0};
    job.joins = joins;
    job.order = ++launches_;
    worker.shared = !worker.jobs.empty();
    worker.fusion_key = requirements_.at(reservation.trial).fusion_key;
    job.held.reservation = std::move(reservation);
    worker.jobs.push_back(std::move(job));
}

/// A worker's job is over. What the worker takes whatever it trains is reserved with one that stays.
void Engine::let_go(Worker& worker, std::size_t job) {
    const bool bore_it = !worker.jobs[job].joins;
    worker.jobs.erase(worker.jobs.begin() + static_cast<std::ptrdiff_t>(job));
    worker.warm = true;
    if (worker.jobs.empty()) {
        worker.fusion_key.clear();
        worker.shared = false;
    } else if (bore_it && worker.jobs.front().joins) {
        Job& heir = worker.jobs.front();
        heir.joins = false;
        Footprint& reserved = heir.held.reservation.footprint;
        if (const auto requirements = requirements_.find(heir.id.trial); requirements != requirements_.end())
            reserved = at_least(reserved, requirements->second.footprint);
    }
}

void Engine::run(WorkerIndex index, Job& job) {
    Worker& worker = workers_.at(static_cast<std::size_t>(index));
    const std::int64_t trial = job.id.trial;
    const Reservation& reservation = job.held.reservation;
    Allocation allocation{reservation.footprint, "", reservation.alone, requirements_.at(trial).micro_batches,
                          workers_.at(static_cast<std::size_t>(index)).environment};
    std::string where = "cpu " + std::to_string(index);
    if (reservation.device != host_only) {
        const Machine machine = parts_.machine({}, 0);
        where = "gpu ";
        for (const int device : devices_of(reservation)) {
            const bool first = device == reservation.device;
            allocation.device += (first ? "" : ",") + machine.accelerators.at(static_cast<std::size_t>(device)).id;
            where += (first ? "" : "+") + std::to_string(device);
        }
    }
    const std::int64_t attempt = parts_.ledger.launch(trial, where, std::move(allocation));
    job.phase = Job::Phase::running;
    job.id = {trial, attempt};
    job.begun = job.heard = parts_.clock.now();
    job.taken = !std::exchange(worker.ailing, false);
    Requirements& requirements = requirements_.at(trial);
    if (const std::string why = std::exchange(requirements.shrunk, {}); !why.empty())
        say(Notice::Level::info, trial,
            "its batch is trained in " + std::to_string(requirements.micro_batches) + " micro-batches: as it is it " +
                why);
    parts_.executor.log_to(index, parts_.log_file(trial));

    to_worker::Run run;
    run.id = job.id;
    run.params = configuration(trial);
    run.steps = parts_.study.budget.epochs;
    const auto fixed = run.params.find("seed");
    run.seed = fixed != run.params.end() ? static_cast<std::uint64_t>(number_or(fixed->second, 0))
                                         : trial_seed(parts_.study.seed, static_cast<std::uint64_t>(trial));
    run.data_seed = parts_.study.seed;
    run.objective = parts_.study.objective;
    run.folder = parts_.checkpoints(trial).string();
    run.resume = attempt > 1;
    if (const auto& curve = parts_.ledger.record().trial(trial).curve; run.resume && !curve.empty())
        run.done = to_worker::Done{curve.back().step, curve.back().iteration, curve.back().seconds};
    if (worker.slots > 1) run.log = parts_.log_file(trial).string();
    parts_.executor.send(index, run);
}

std::vector<int> Engine::devices_of(const Reservation& reservation) {
    std::vector<int> devices{reservation.device};
    devices.insert(devices.end(), reservation.more.begin(), reservation.more.end());
    return devices;
}

/// Workers that answer `plan` are needed before anything is known of any trial.
void Engine::warm_up() {
    if (!asks_ || parts_.on_device) return;
    std::int64_t wanted = work_left();
    for (std::size_t index = 0; index < workers_.size() && wanted > 0 && !closing_; ++index, --wanted)
        open(static_cast<WorkerIndex>(index), host_only);
}

/// What the trial needs is known now, or (false) a worker was asked or has to come first.
bool Engine::find_requirements(std::int64_t trial) {
    Requirements& requirements = requirements_[trial];
    if (requirements.known) return true;
    if (!asks_) {
        const Prediction prediction = model_.predict(configuration(trial));
        // A learned bound may be too generous: it does not make the trial wait for what other programs use, nor fail.
        // What was declared stands.
        const Machine machine = read_machine();
        const Footprint capacity = capacity_of(machine), others = others_of(machine);
        const DeclaredFootprint& declared = parts_.study.resources.trial;
        const auto capped = [](std::int64_t bound, std::int64_t all, std::int64_t used,
                               const std::optional<std::int64_t>& said) {
            return std::min(bound, std::max({all - used, all / 2, said.value_or(0)}));
        };
        Footprint& footprint = requirements.footprint = prediction.footprint;
        footprint.host_bytes =
            capped(footprint.host_bytes, capacity.host_bytes, others.host_bytes, declared.host_bytes);
        if (parts_.on_device)
            footprint.device_bytes =
                capped(footprint.device_bytes, capacity.device_bytes, others.device_bytes, declared.device_bytes);
        footprint = at_least(footprint, requirements.minimum);
        requirements.alone = requirements.must_run_alone || prediction.alone;
        requirements.known = true;
        return true;
    }
    for (std::size_t index = 0; index < workers_.size(); ++index) {
        Worker& worker = workers_[index];
        // One with many slots answers while it trains.
        if (!worker.plans || worker.state != State::ready || (worker.slots == 1 && !worker.jobs.empty())) continue;
        if (worker.planning != 0) continue;
        worker.planning = trial;
        worker.heard = parts_.clock.now();
        parts_.executor.send(
            static_cast<WorkerIndex>(index),
            to_worker::Plan{trial, configuration(trial), parts_.study.budget.epochs, parts_.study.seed});
        return false;
    }
    const auto answers_soon = [](const Worker& w) {
        return w.state == State::starting || (w.state == State::ready && w.plans && w.slots > 1);
    };
    if (std::any_of(workers_.begin(), workers_.end(), answers_soon)) return false;
    const auto empty =
        std::find_if(workers_.begin(), workers_.end(), [](const Worker& w) { return w.state == State::empty; });
    if (empty == workers_.end() || !may_open()) return false;
    const auto device = parts_.on_device ? a_usable_device() : std::optional(host_only);
    if (device) open(static_cast<WorkerIndex>(empty - workers_.begin()), *device);
    return false;
}

/// The device a worker that is to plan is started on.
std::optional<int> Engine::a_usable_device() const {
    const Machine machine = read_machine();
    for (std::size_t device = 0; device < machine.accelerators.size(); ++device)
        if (machine.accelerators[device].usable) return static_cast<int>(device);
    return std::nullopt;
}

/// Too large for the empty machine: in smaller micro-batches, else not at all.
void Engine::refuse(const Admission::Reason& never) {
    if (shrink(never.trial, never.text)) return;
    const std::int64_t micro_batches = requirements_[never.trial].micro_batches;
    parts_.ledger.finish(never.trial, TrialState::failed, "",
                         never.text + (micro_batches == 0 ? ""
                                                          : ", even in " + std::to_string(micro_batches) +
                                                                " micro-batches, one sample each"));
    trial_failed(never.trial, "does not fit");
}

/// Something waits and does not fit: what idle workers hold is given back. One stays, its memory was counted as free.
void Engine::release_idle_workers() {
    bool first = true;
    for (std::size_t index = 0; index < workers_.size(); ++index)
        if (workers_[index].idle() && !std::exchange(first, false))
            leave(static_cast<WorkerIndex>(index), "frees memory for a waiting trial");
}

/// A queued trial whose need is not known, else a further one. 0: none.
std::int64_t Engine::next_trial() {
    for (const std::int64_t trial : parts_.ledger.queued()) {
        const auto requirements = requirements_.find(trial);
        const bool unknown = requirements == requirements_.end() || !requirements->second.known;
        if (unknown && !assigned(trial)) return trial;
    }
    return supply_.further_trial();
}

/// Trials that some worker could start on now or soon; of promotions no more are counted than there are places.
std::int64_t Engine::work_left() const {
    std::int64_t work = 0;
    for (const std::int64_t trial : parts_.ledger.queued())
        if (!assigned(trial)) ++work;
    if (supply_.may_propose())
        work += parts_.study.budget.trials - static_cast<std::int64_t>(parts_.ledger.record().trials.size());
    return work + static_cast<std::int64_t>(supply_.promotions(workers_.size()).size());
}

/// Whether a worker holds the trial, or is asked about it, or what follows its last attempt is not decided yet.
bool Engine::assigned(std::int64_t trial) const {
    if (std::any_of(pending_diagnoses_.begin(), pending_diagnoses_.end(),
                    [&](const PendingDiagnosis& s) { return s.job.id.trial == trial; }))
        return true;
    return std::any_of(workers_.begin(), workers_.end(), [&](const Worker& w) {
        return w.planning == trial ||
               std::any_of(w.jobs.begin(), w.jobs.end(), [&](const Job& job) { return job.id.trial == trial; });
    });
}

/// Fixed keys and the trial's own, as the worker takes them.
Params Engine::configuration(std::int64_t trial) const {
    Params params = parts_.ledger.record().trial(trial).params;
    params.insert(parts_.study.worker.begin(), parts_.study.worker.end());
    if (const auto requirements = requirements_.find(trial);
        requirements != requirements_.end() && requirements->second.micro_batches > 0)
        params["accumulation"] = requirements->second.micro_batches;
    return params;
}

}  // namespace hpo
