// Which trial goes where: needs are found out, the planner (scheduling/plan.hpp) admits, workers take.
#include <algorithm>
#include <utility>

#include "hpo/random.hpp"
#include "orchestrator/engine/engine.hpp"
#include "orchestrator/engine/words.hpp"
#include "orchestrator/scheduling/side_by_side.hpp"

namespace hpo {

namespace {

constexpr double told_after = 3;  // seconds that a trial has waited for other programs

}  // namespace

/// One trial after the other: each changes what is left, and what the machine has is read before each.
void Engine::place_trials() {
    while (!closing_ && has_room()) {
        const std::vector<Waiting> queue = waiting();
        std::vector<Booking> running;
        for (const Holding& holding : holdings()) running.push_back(holding.booking);
        const Admission admission = admit(look(), running, queue, parallel());
        for (const auto& never : admission.never) refuse(never);
        if (closing_) return;
        tell_who_waits(admission.kept_out);
        if (!admission.never.empty() || start_one(admission)) continue;

        // Look a little further than the trial that does not fit, for a smaller one.
        const bool soon = std::any_of(admission.launch.begin(), admission.launch.end(),
                                      [](const Admission::Launch& launch) { return launch.beside; });
        if (queue.size() >= longest_queue()) return soon ? void() : make_room();
        const std::int64_t next = next_trial();
        if (next == 0) return queue.empty() || soon ? void() : make_room();
        const bool more_to_ask =
            std::any_of(places_.begin(), places_.end(), [](const Worker& w) { return w.idle() && w.plans; });
        if (!find_need(next) && !more_to_ask) return;
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
bool Engine::has_room() const {
    const bool opens = may_open();
    return std::any_of(places_.begin(), places_.end(), [opens](const Worker& w) {
        return (opens && w.state == State::empty) ||
               (w.state == State::ready && w.planning == 0 && w.jobs.size() < w.slots);
    });
}

/// In a shortage one worker at a time is tried, after a pause.
bool Engine::may_open() const {
    if (!shortage_) return true;
    return parts_.clock.now() >= shortage_->until &&
           std::none_of(places_.begin(), places_.end(), [](const Worker& w) { return w.state == State::starting; });
}

/// Queued trials whose needs are known, in the order in which they should start.
std::vector<Waiting> Engine::waiting() const {
    std::vector<Waiting> queue;
    for (const std::int64_t trial : parts_.ledger.queued()) {
        const auto need = needs_.find(trial);
        if (need == needs_.end() || !need->second.known || assigned(trial)) continue;
        queue.push_back({trial, need->second.footprint, parts_.on_device, need->second.alone, {}, {}});
        queue.back().devices = static_cast<std::size_t>(parts_.study.resources.trial.gpus);
        queue.back().beside = need->second.beside;
        queue.back().beside_on = devices_beside(need->second);
    }
    return queue;
}

/// Of workers that could train the trial beside others of its shape: now, or in a moment, when they have started or
/// answered. It is worth waiting for one on a device that is less used.
std::vector<int> Engine::devices_beside(const Need& need) const {
    std::vector<int> devices;
    if (need.shape.empty() || need.own_worker || need.alone) return devices;
    for (const Worker& worker : places_) {
        const bool starts = worker.state == State::starting;
        if ((!starts && worker.state != State::ready) || worker.shape != need.shape || worker.jobs.empty()) continue;
        if (worker.jobs.size() < (starts ? most_slots_seen() : worker.slots) && shares(worker))
            devices.push_back(worker.device);
    }
    return devices;
}

std::size_t Engine::most_slots_seen() const {
    std::size_t slots = 1;
    for (const Worker& worker : places_)
        if (worker.plans) slots = std::max(slots, worker.slots);
    return slots;
}

/// None of its trials wants it for itself.
bool Engine::shares(const Worker& worker) const {
    return std::none_of(worker.jobs.begin(), worker.jobs.end(), [this](const Job& job) {
        const auto need = needs_.find(job.id.trial);
        return need != needs_.end() && need->second.own_worker;
    });
}

std::optional<std::int64_t> Engine::parallel() const {
    return most_at_once(parts_.study, static_cast<std::int64_t>(places_.size()),
                        static_cast<std::int64_t>(most_slots_seen()));
}

std::size_t Engine::longest_queue() const {
    std::size_t free = 0;
    for (const Worker& worker : places_)
        if (!worker.shape.empty() && worker.slots > worker.jobs.size()) free += worker.slots - worker.jobs.size();
    return queue_length(places_.size(), free);
}

/// What the machine has for trials. The memory of one idle worker is free for the trial that it would take; that of
/// further ones is in use until they take one or leave.
Machine Engine::look() const {
    std::vector<std::int64_t> workers;
    std::int64_t reusable = 0;
    for (const Worker& worker : places_) {
        if (worker.spent) continue;  // nothing is booked for it any more: what it holds is in use like others'
        if (!worker.idle())
            workers.push_back(worker.pid);
        else if (reusable == 0)
            reusable = worker.pid;
    }
    std::erase(workers, 0);
    Machine machine = machine_now(workers, reusable);
    for (const auto& [device, until] : doubts_)
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
    const Need& need = needs_.at(launch.trial);
    const auto takes = [&](const Worker& worker) {
        if (worker.state != State::ready || worker.planning != 0) return false;
        if (worker.device != launch.device || worker.more != launch.more) return false;
        if (worker.jobs.empty()) return !launch.beside;
        // Without plans nobody knows of shapes: any trials may share.
        const bool alike = launch.beside ? worker.shape == need.shape : !worker.plans;
        return alike && !need.own_worker && worker.jobs.size() < worker.slots && shares(worker);
    };
    const auto with = [this](auto&& holds) {
        return static_cast<Place>(std::find_if(places_.begin(), places_.end(), holds) - places_.begin());
    };
    const auto none = static_cast<Place>(places_.size());
    Place place = with([&](const Worker& w) { return w.idle() && takes(w); });
    if (place == none) place = with(takes);
    if (place != none) {
        Worker& worker = places_.at(static_cast<std::size_t>(place));
        book(place, launch);
        run(place, worker.jobs.back());
        return true;
    }
    // One that is about to answer what a trial needs takes this one then.
    const bool soon = std::any_of(places_.begin(), places_.end(), [&](const Worker& worker) {
        return worker.state == State::ready && worker.planning != 0 && worker.slots > 1 && worker.jobs.empty() &&
               worker.device == launch.device;
    });
    if (launch.beside || soon) return false;
    place = with([](const Worker& w) { return w.state == State::empty; });
    if (place != none) {
        if (!may_open()) return false;
        open(place, launch.device, launch.more);
        book(place, launch);
        return true;
    }
    place = with([&](const Worker& w) { return w.idle() && (w.device != launch.device || w.more != launch.more); });
    if (place != none) leave(place, "makes place for a worker on another device");
    return false;
}

void Engine::open(Place place, int device, const std::vector<int>& more) {
    Worker worker;
    worker.state = State::starting;
    worker.device = device;
    worker.more = more;
    worker.heard = parts_.clock.now();
    const LaunchSpec spec = parts_.worker(place, devices_of({.device = device, .more = more}));
    worker.environment = spec.told;
    places_.at(static_cast<std::size_t>(place)) = std::move(worker);
    parts_.executor.launch(place, spec);
}

void Engine::book(Place place, const Admission::Launch& launch) {
    const Need& need = needs_.at(launch.trial);
    Worker& worker = places_.at(static_cast<std::size_t>(place));
    Job job;
    job.id = {launch.trial, 0};
    job.beside = launch.beside;
    job.order = ++launches_;
    job.holding.booking = {launch.trial, launch.beside ? need.beside : need.footprint, launch.device, need.alone,
                           launch.more};
    worker.shared = !worker.jobs.empty();
    worker.shape = need.shape;
    worker.jobs.push_back(std::move(job));
}

/// A worker's job is over. What the worker takes whatever it trains is booked with one that stays.
void Engine::let_go(Worker& worker, std::size_t job) {
    const bool bore_it = !worker.jobs[job].beside;
    worker.jobs.erase(worker.jobs.begin() + static_cast<std::ptrdiff_t>(job));
    worker.warm = true;
    if (worker.jobs.empty()) {
        worker.shape.clear();
        worker.shared = false;
    } else if (bore_it && worker.jobs.front().beside) {
        Job& heir = worker.jobs.front();
        heir.beside = false;
        Footprint& booked = heir.holding.booking.footprint;
        if (const auto need = needs_.find(heir.id.trial); need != needs_.end())
            booked = at_least(booked, need->second.footprint);
    }
}

void Engine::run(Place place, Job& job) {
    Worker& worker = places_.at(static_cast<std::size_t>(place));
    const std::int64_t trial = job.id.trial;
    const Booking& booking = job.holding.booking;
    Allocation allocation{booking.footprint, "", booking.alone, needs_.at(trial).micro_batches,
                          places_.at(static_cast<std::size_t>(place)).environment};
    std::string where = "cpu " + std::to_string(place);
    if (booking.device != host_only) {
        const Machine machine = parts_.machine({}, 0);
        where = "gpu ";
        for (const int device : devices_of(booking)) {
            const bool first = device == booking.device;
            allocation.device += (first ? "" : ",") + machine.accelerators.at(static_cast<std::size_t>(device)).id;
            where += (first ? "" : "+") + std::to_string(device);
        }
    }
    const std::int64_t attempt = parts_.ledger.launch(trial, where, std::move(allocation));
    job.phase = Job::Phase::running;
    job.id = {trial, attempt};
    job.begun = job.heard = parts_.clock.now();
    job.taken = !std::exchange(worker.ailing, false);
    Need& need = needs_.at(trial);
    if (const std::string why = std::exchange(need.shrunk, {}); !why.empty())
        say(Notice::Level::info, trial,
            "its batch is trained in " + std::to_string(need.micro_batches) + " micro-batches: as it is it " + why);
    parts_.executor.log_to(place, parts_.log_file(trial));

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
    parts_.executor.send(place, run);
}

std::vector<int> Engine::devices_of(const Booking& booking) {
    std::vector<int> devices{booking.device};
    devices.insert(devices.end(), booking.more.begin(), booking.more.end());
    return devices;
}

/// Workers that answer `plan` are needed before anything is known of any trial.
void Engine::warm_up() {
    if (!asks_ || parts_.on_device) return;
    std::int64_t wanted = work_left();
    for (std::size_t place = 0; place < places_.size() && wanted > 0 && !closing_; ++place, --wanted)
        open(static_cast<Place>(place), host_only);
}

/// What the trial needs is known now, or (false) a worker was asked or has to come first.
bool Engine::find_need(std::int64_t trial) {
    Need& need = needs_[trial];
    if (need.known) return true;
    if (!asks_) {
        const Prediction prediction = model_.predict(configuration(trial));
        // A learned bound may be too generous: it does not make the trial wait for what other programs use, nor fail.
        // What was declared stands.
        const Machine machine = look();
        const Footprint room = room_of(machine), others = others_of(machine);
        const DeclaredFootprint& declared = parts_.study.resources.trial;
        const auto capped = [](std::int64_t bound, std::int64_t all, std::int64_t used,
                               const std::optional<std::int64_t>& said) {
            return std::min(bound, std::max({all - used, all / 2, said.value_or(0)}));
        };
        Footprint& footprint = need.footprint = prediction.footprint;
        footprint.host_bytes = capped(footprint.host_bytes, room.host_bytes, others.host_bytes, declared.host_bytes);
        if (parts_.on_device)
            footprint.device_bytes =
                capped(footprint.device_bytes, room.device_bytes, others.device_bytes, declared.device_bytes);
        footprint = at_least(footprint, need.lesson);
        need.alone = need.lesson_alone || prediction.alone;
        need.known = true;
        return true;
    }
    for (std::size_t place = 0; place < places_.size(); ++place) {
        Worker& worker = places_[place];
        // One with many slots answers while it trains.
        if (!worker.plans || worker.state != State::ready || (worker.slots == 1 && !worker.jobs.empty())) continue;
        if (worker.planning != 0) continue;
        worker.planning = trial;
        worker.heard = parts_.clock.now();
        parts_.executor.send(static_cast<Place>(place), to_worker::Plan{trial, configuration(trial),
                                                                        parts_.study.budget.epochs, parts_.study.seed});
        return false;
    }
    const auto answers_soon = [](const Worker& w) {
        return w.state == State::starting || (w.state == State::ready && w.plans && w.slots > 1);
    };
    if (std::any_of(places_.begin(), places_.end(), answers_soon)) return false;
    const auto empty =
        std::find_if(places_.begin(), places_.end(), [](const Worker& w) { return w.state == State::empty; });
    if (empty == places_.end() || !may_open()) return false;
    const auto device = parts_.on_device ? a_usable_device() : std::optional(host_only);
    if (device) open(static_cast<Place>(empty - places_.begin()), *device);
    return false;
}

/// The device a worker that is to plan is started on.
std::optional<int> Engine::a_usable_device() const {
    const Machine machine = look();
    for (std::size_t device = 0; device < machine.accelerators.size(); ++device)
        if (machine.accelerators[device].usable) return static_cast<int>(device);
    return std::nullopt;
}

/// Too large for the empty machine: in smaller micro-batches, else not at all.
void Engine::refuse(const Admission::Reason& never) {
    if (shrink(never.trial, never.text)) return;
    const std::int64_t micro_batches = needs_[never.trial].micro_batches;
    parts_.ledger.finish(never.trial, TrialState::failed, "",
                         never.text + (micro_batches == 0 ? ""
                                                          : ", even in " + std::to_string(micro_batches) +
                                                                " micro-batches, one sample each"));
    trial_failed(never.trial, "does not fit");
}

/// Something waits and does not fit: what idle workers hold is given back. One stays, its memory was counted as free.
void Engine::make_room() {
    bool first = true;
    for (std::size_t place = 0; place < places_.size(); ++place)
        if (places_[place].idle() && !std::exchange(first, false))
            leave(static_cast<Place>(place), "makes room for a waiting trial");
}

/// A queued trial whose need is not known, else a further one. 0: none.
std::int64_t Engine::next_trial() {
    for (const std::int64_t trial : parts_.ledger.queued()) {
        const auto need = needs_.find(trial);
        const bool unknown = need == needs_.end() || !need->second.known;
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
    return work + static_cast<std::int64_t>(supply_.promotions(places_.size()).size());
}

/// Whether a worker holds the trial, or is asked about it, or what follows its last attempt is not decided yet.
bool Engine::assigned(std::int64_t trial) const {
    if (std::any_of(suspects_.begin(), suspects_.end(), [&](const Suspect& s) { return s.job.id.trial == trial; }))
        return true;
    return std::any_of(places_.begin(), places_.end(), [&](const Worker& w) {
        return w.planning == trial ||
               std::any_of(w.jobs.begin(), w.jobs.end(), [&](const Job& job) { return job.id.trial == trial; });
    });
}

/// Fixed keys and the trial's own, as the worker takes them.
Params Engine::configuration(std::int64_t trial) const {
    Params params = parts_.ledger.record().trial(trial).params;
    params.insert(parts_.study.worker.begin(), parts_.study.worker.end());
    if (const auto need = needs_.find(trial); need != needs_.end() && need->second.micro_batches > 0)
        params["accumulation"] = need->second.micro_batches;
    return params;
}

}  // namespace hpo
