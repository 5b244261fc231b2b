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
        const std::vector<Waiting> queue = waiting();
        std::vector<Reservation> running;
        for (const HeldResources& held : held_resources()) running.push_back(held.reservation);
        const Admission admission = admit(read_machine(), running, queue, parallel());
        for (const auto& never : admission.never) refuse(never);
        if (closing_) return;
        tell_who_waits(admission.kept_out);
        if (!admission.never.empty() || start_one(admission)) continue;

        // Look a little further than the trial that does not fit, for a smaller one.
        const bool soon = std::any_of(admission.launch.begin(), admission.launch.end(),
                                      [](const Admission::Launch& launch) { return launch.joins; });
        if (queue.size() >= longest_queue()) return soon ? void() : release_idle_workers();
        const std::int64_t next = next_trial();
        if (next == 0) return queue.empty() || soon ? void() : release_idle_workers();
        const bool more_to_ask =
            std::any_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.idle() && w.plans; });
        if (!find_requirements(next) && !more_to_ask) return;
    }
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

/// Queued trials whose needs are known, in the order in which they should start.
std::vector<Waiting> Engine::waiting() const {
    std::vector<Waiting> queue;
    for (const std::int64_t trial : parts_.ledger.queued()) {
        const auto requirements = requirements_.find(trial);
        if (requirements == requirements_.end() || !requirements->second.known || assigned(trial)) continue;
        queue.push_back({trial, requirements->second.footprint, parts_.on_device, requirements->second.alone, {}, {}});
        queue.back().devices = static_cast<std::size_t>(parts_.study.resources.trial.gpus);
        queue.back().colocated = requirements->second.colocated;
        queue.back().joinable_on = joinable_devices(requirements->second);
    }
    return queue;
}

/// Of workers that could train the trial beside others of its fusion key: now, or in a moment, when they have started
/// or answered. It is worth waiting for one on a device that is less used.
std::vector<int> Engine::joinable_devices(const Requirements& requirements) const {
    std::vector<int> devices;
    if (requirements.fusion_key.empty() || requirements.own_worker || requirements.alone) return devices;
    for (const Worker& worker : workers_) {
        const bool starts = worker.state == State::starting;
        if ((!starts && worker.state != State::ready) || worker.fusion_key != requirements.fusion_key ||
            worker.jobs.empty())
            continue;
        if (worker.jobs.size() < (starts ? most_slots_seen() : worker.slots) && shares(worker))
            devices.push_back(worker.device);
    }
    return devices;
}

std::size_t Engine::most_slots_seen() const {
    std::size_t slots = 1;
    for (const Worker& worker : workers_)
        if (worker.plans) slots = std::max(slots, worker.slots);
    return slots;
}

/// None of its trials wants it for itself.
bool Engine::shares(const Worker& worker) const {
    return std::none_of(worker.jobs.begin(), worker.jobs.end(), [this](const Job& job) {
        const auto requirements = requirements_.find(job.id.trial);
        return requirements != requirements_.end() && requirements->second.own_worker;
    });
}

std::optional<std::int64_t> Engine::parallel() const {
    return most_at_once(parts_.study, static_cast<std::int64_t>(workers_.size()),
                        static_cast<std::int64_t>(most_slots_seen()));
}

std::size_t Engine::longest_queue() const {
    std::size_t free = 0;
    for (const Worker& worker : workers_)
        if (!worker.fusion_key.empty() && worker.slots > worker.jobs.size()) free += worker.slots - worker.jobs.size();
    return queue_length(workers_.size(), free);
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
    for (const auto& [device, until] : cool_downs_)
        if (parts_.clock.now() < until) machine.accelerators.at(static_cast<std::size_t>(device)).usable = false;
    return machine;
}

/// The first of the admitted trials that a worker can take now. False: none could.
bool Engine::start_one(const Admission& admission) {
    return std::any_of(admission.launch.begin(), admission.launch.end(),
                       [this](const Admission::Launch& launch) { return assign(launch); });
}

/// To an idle worker, one with a free slot, or a new one; idle workers of another device make place.
bool Engine::assign(const Admission::Launch& launch) {
    const Requirements& requirements = requirements_.at(launch.trial);
    const auto takes = [&](const Worker& worker) {
        if (worker.state != State::ready || worker.planning != 0) return false;
        if (worker.device != launch.device || worker.more != launch.more) return false;
        if (worker.jobs.empty()) return !launch.joins;
        // Without plans nobody knows of shapes: any trials may share.
        const bool alike = launch.joins ? worker.fusion_key == requirements.fusion_key : !worker.plans;
        return alike && !requirements.own_worker && worker.jobs.size() < worker.slots && shares(worker);
    };
    const auto with = [this](auto&& holds) {
        return static_cast<WorkerIndex>(std::find_if(workers_.begin(), workers_.end(), holds) - workers_.begin());
    };
    const auto none = static_cast<WorkerIndex>(workers_.size());
    WorkerIndex index = with([&](const Worker& w) { return w.idle() && takes(w); });
    if (index == none) index = with(takes);
    if (index != none) {
        Worker& worker = workers_.at(static_cast<std::size_t>(index));
        reserve(index, launch);
        run(index, worker.jobs.back());
        return true;
    }
    // One that is about to answer what a trial needs takes this one then.
    const bool soon = std::any_of(workers_.begin(), workers_.end(), [&](const Worker& worker) {
        return worker.state == State::ready && worker.planning != 0 && worker.slots > 1 && worker.jobs.empty() &&
               worker.device == launch.device;
    });
    if (launch.joins || soon) return false;
    index = with([](const Worker& w) { return w.state == State::empty; });
    if (index != none) {
        if (!may_open()) return false;
        open(index, launch.device, launch.more);
        reserve(index, launch);
        return true;
    }
    index = with([&](const Worker& w) { return w.idle() && (w.device != launch.device || w.more != launch.more); });
    if (index != none) leave(index, "makes way for a worker on another device");
    return false;
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

void Engine::reserve(WorkerIndex index, const Admission::Launch& launch) {
    const Requirements& requirements = requirements_.at(launch.trial);
    Worker& worker = workers_.at(static_cast<std::size_t>(index));
    Job job;
    job.id = {launch.trial, 0};
    job.joins = launch.joins;
    job.order = ++launches_;
    job.held.reservation = {launch.trial, launch.joins ? requirements.colocated : requirements.footprint, launch.device,
                            requirements.alone, launch.more};
    worker.shared = !worker.jobs.empty();
    worker.fusion_key = requirements.fusion_key;
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
