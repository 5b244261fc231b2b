#include "orchestrator/engine/worker_pool.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hpo {

namespace {

constexpr double ending_patience = 60;  // seconds from the decision that ends an attempt to the worker's last message
constexpr std::int64_t most_slots = 1024;

bool can(const from_worker::Hello& hello, const char* what) {
    return std::find(hello.capabilities.begin(), hello.capabilities.end(), what) != hello.capabilities.end();
}

/// Returns the attempt that a message names; trial 0: the message is about the worker.
AttemptId attempt_of(const WorkerMessage& message) {
    return std::visit(
        [](const auto& m) -> AttemptId {
            if constexpr (requires { m.id.trial; })
                return m.id;
            else
                return {};
        },
        message);
}

}  // namespace

WorkerPool::WorkerPool(const Resources& resources, Executor& executor, const Clock& clock, Placement& placement,
                       int workers)
    : resources_(resources),
      executor_(executor),
      clock_(clock),
      placement_(placement),
      workers_(static_cast<std::size_t>(workers)) {
    known_.in.resize(workers_.size());
    for (WorkerIndex index = 0; index < workers; ++index) changed(index);
}

void WorkerPool::grow(int workers) {
    const auto first = static_cast<WorkerIndex>(workers_.size());
    if (workers <= first) return;
    workers_.resize(static_cast<std::size_t>(workers));
    known_.in.resize(workers_.size());
    for (WorkerIndex index = first; index < workers; ++index) changed(index);
}

Job* WorkerPool::find(WorkerIndex index, AttemptId id) {
    std::vector<Job>& jobs = worker(index).jobs;
    const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const Job& other) { return other.id == id; });
    return job == jobs.end() ? nullptr : &*job;
}

void WorkerPool::launch(WorkerIndex index, const LaunchSpec& spec, int device, const std::vector<int>& more) {
    Worker fresh;
    fresh.state = State::starting;
    fresh.device = device;
    fresh.more = more;
    fresh.heard = fresh.start = clock_.now();
    fresh.environment = spec.description;
    fresh.host = spec.host;
    const auto is_taken = [&](const Worker& other) {
        return other.state != State::empty && other.host == fresh.host && other.number == fresh.number;
    };
    while (std::any_of(workers_.begin(), workers_.end(), is_taken)) ++fresh.number;
    worker(index) = std::move(fresh);
    changed(index);
    executor_.launch(index, spec);
}

bool WorkerPool::greet(WorkerIndex index, const from_worker::Hello& hello) {
    Worker& greeted = worker(index);
    if (greeted.state != State::starting) return false;
    greeted.state = State::ready;
    greeted.greeted = true;
    greeted.start = clock_.now() - greeted.start;
    greeted.pid = hello.pid;
    greeted.slots = static_cast<std::size_t>(std::clamp<std::int64_t>(hello.slots, 1, most_slots));
    greeted.plans = can(hello, "plan");
    greeted.checkpoints = can(hello, "checkpoint");
    greeted.shrinks = can(hello, "micro_batch");
    greeted.once = can(hello, "once");
    greeted.threads = can(hello, "cores");
    changed(index);
    return true;
}

void WorkerPool::note_life(WorkerIndex index, const WorkerMessage& message) {
    Worker& living = worker(index);
    living.heard = clock_.now();
    const AttemptId id = attempt_of(message);
    for (Job& job : living.jobs)
        if (job.phase == Job::Phase::running && (job.id == id || id.trial == 0))
            job.heard = living.heard, job.taken = job.taken || job.id == id;
}

void WorkerPool::forgive_silence() {
    const Seconds now = clock_.now();
    for (Worker& worker : workers_) {
        worker.heard = now;
        for (Job& job : worker.jobs) job.heard = now;
    }
}

Job& WorkerPool::reserve(WorkerIndex index, bool joins, const TrialNeeds& needs, Reservation reservation) {
    Worker& taking = worker(index);
    taking.fusion_key = needs.fusion_key;
    taking.exclusive = needs.own_worker;
    taking.shared = !taking.jobs.empty();
    ++taking.trials;
    Job& job = taking.jobs.emplace_back();
    job.id = {reservation.trial, 0};
    job.joins = joins;
    job.borrowed = taking.borrows;
    job.order = ++launches_;
    job.held.reservation = std::move(reservation);
    changed(index);
    placement_.hold(job.order, job.held.reservation);
    return job;
}

void WorkerPool::begin(WorkerIndex index, Job& job, AttemptId id) {
    Worker& training = worker(index);
    training.start = Seconds(0);
    job.id = id;
    job.phase = Job::Phase::running;
    job.begun = job.heard = clock_.now();
    job.taken = !std::exchange(training.ailing, false);
}

void WorkerPool::resize(Job& job, const Footprint& footprint, bool alone) {
    Reservation& held = job.held.reservation;
    if (held.footprint == footprint && held.alone == alone) return;
    held.footprint = footprint;
    held.alone = alone;
    placement_.release(job.order);
    placement_.hold(job.order, held);
}

Job* WorkerPool::let_go(WorkerIndex index, AttemptId id) {
    Worker& worker = this->worker(index);
    const auto job =
        std::find_if(worker.jobs.begin(), worker.jobs.end(), [&](const Job& other) { return other.id == id; });
    if (job == worker.jobs.end()) return nullptr;
    const bool carried = !job->joins;
    placement_.release(job->order);
    worker.jobs.erase(job);
    --worker.trials;
    worker.warm = true;
    if (worker.jobs.empty()) {
        worker.fusion_key.clear();
        worker.exclusive = worker.shared = false;
    }
    changed(index);
    if (worker.jobs.empty()) return nullptr;
    Job& heir = worker.jobs.front();
    if (!carried || !heir.joins) return nullptr;
    heir.joins = false;
    return &heir;
}

void WorkerPool::ask_plan(WorkerIndex index, const to_worker::Plan& question) {
    worker(index).planning = question.id;
    worker(index).heard = clock_.now();
    changed(index);
    executor_.send(index, question);
}

void WorkerPool::plan_answered(WorkerIndex index) {
    worker(index).planning = 0;
    changed(index);
}

void WorkerPool::set_reachable(WorkerIndex index, bool reachable) {
    Worker& told = worker(index);
    if (told.state == State::empty || std::exchange(told.reachable, reachable) == reachable) return;
    if (!reachable) told.planning = 0;  // a late answer is ignored
    changed(index);
    while (!reachable && told.state == State::starting && !told.jobs.empty()) let_go(index, told.jobs.front().id);
}

void WorkerPool::use_cores(WorkerIndex index, std::vector<int> cores, bool borrows) {
    executor_.send(index, to_worker::Cores{{cores.begin(), cores.end()}});
    Worker& told = worker(index);
    told.cores = std::move(cores);
    told.borrows = borrows;
    for (Job& job : told.jobs) job.borrowed |= borrows;
}

void WorkerPool::stop_trial(std::int64_t trial) {
    for (std::size_t index = 0; index < workers_.size(); ++index)
        for (Job& job : workers_[index].jobs) {  // its reservation stays
            if (job.id.trial != trial || job.phase != Job::Phase::running) continue;
            job.phase = Job::Phase::ending;
            job.heard = clock_.now();
            executor_.send(static_cast<WorkerIndex>(index), to_worker::Stop{job.id});
        }
}

void WorkerPool::end(WorkerIndex index, const std::string& reason, AttemptId culprit) {
    Worker& leaving = worker(index);
    if (leaving.state == State::empty) return;
    if (leaving.kill_reason.empty()) leaving.kill_reason = reason;
    if (leaving.state != State::leaving) leaving.culprit = culprit;
    leaving.state = State::leaving;
    changed(index);
    executor_.send(index, to_worker::Shutdown{});
    executor_.terminate(index, resources_.grace);
}

void WorkerPool::end_all(const std::string& reason) {
    for (std::size_t index = 0; index < workers_.size(); ++index) end(static_cast<WorkerIndex>(index), reason);
}

void WorkerPool::end_on_device(int device, const std::string& reason) {
    for (std::size_t index = 0; index < workers_.size(); ++index)
        if (computes_on(device, workers_[index].device, workers_[index].more) &&
            workers_[index].state != State::leaving)
            end(static_cast<WorkerIndex>(index), reason);
}

void WorkerPool::end_idle_but_one(const std::string& reason) {
    const Known::Workers idle = known_.idle;  // end() changes the set
    const auto kept = idle_to_reuse();
    for (const WorkerIndex index : idle)
        if (index != kept) end(index, reason);
}

void WorkerPool::end_silent() {
    const Seconds now = clock_.now();
    const double patience = resources_.progress_timeout;
    const auto silent_for = [now](Seconds heard, double seconds) { return (now - heard).count() > seconds; };
    // Messages do not extend the time of an attempt that was told to end, but one that has taken all its steps may
    // still be saving its model.
    const auto is_silent = [&](const Job& job) {
        const bool hurries = job.phase == Job::Phase::ending && !job.complete;
        return job.phase != Job::Phase::reserved &&
               silent_for(job.heard, hurries ? std::min(patience, ending_patience) : patience);
    };
    const std::string reason =
        "silent for " + to_text(Value(std::int64_t(patience))) + " s (resources.progress_timeout)";
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        Worker& worker = workers_[i];
        const auto index = static_cast<WorkerIndex>(i);
        if (worker.spent && silent_for(worker.heard, patience)) {
            worker.spent = false;
            end(index, reason);
            continue;
        }
        const bool owes_answer = worker.state == State::starting || (worker.state == State::ready && worker.planning);
        if (owes_answer && silent_for(worker.heard, patience)) {
            end(index, reason, {worker.planning, 0});
            continue;
        }
        if (worker.state != State::ready) continue;
        const auto job = std::find_if(worker.jobs.begin(), worker.jobs.end(), is_silent);
        if (job == worker.jobs.end()) continue;
        end(index, reason, job->phase == Job::Phase::ending ? AttemptId{} : job->id);
    }
}

void WorkerPool::retire(WorkerIndex index) {
    worker(index).state = State::leaving;
    worker(index).spent = true;
    changed(index);
    executor_.send(index, to_worker::Shutdown{});
}

void WorkerPool::kill_all() {
    for (std::size_t index = 0; index < workers_.size(); ++index)
        if (workers_[index].state != State::empty) executor_.kill(static_cast<WorkerIndex>(index));
}

Worker WorkerPool::remove(WorkerIndex index) {
    Worker gone = std::exchange(worker(index), {});
    for (const Job& job : gone.jobs) placement_.release(job.order);
    changed(index);
    return gone;
}

void WorkerPool::changed(WorkerIndex index) {
    const Worker& worker = at(index);
    const bool ready = worker.state == State::ready, starting = worker.state == State::starting;
    // A worker with many slots answers while it trains.
    const bool answers =
        worker.plans && ready && worker.reachable && worker.planning == 0 && (worker.slots > 1 || worker.jobs.empty());
    const std::pair<Known::Workers*, bool> members[] = {
        {&known_.empty, worker.state == State::empty},
        {&known_.idle, worker.idle()},
        {&known_.starting, starting},
        {&known_.with_free_slot, worker.has_free_slot()},
        {&known_.answers, answers},
        {&known_.answers_soon, worker.reachable && (starting || (ready && worker.plans && worker.slots > 1))},
        {&known_.answers_idle, worker.idle() && worker.plans && worker.reachable},
    };
    std::uint8_t& in = known_.in[static_cast<std::size_t>(index)];
    for (std::size_t i = 0; i < std::size(members); ++i) {
        const auto [workers, is_member] = members[i];
        if (is_member == ((in >> i & 1) != 0)) continue;
        in ^= static_cast<std::uint8_t>(1U << i);
        if (is_member)
            workers->insert(index);
        else
            workers->erase(index);
    }
    placement_.set_worker(static_cast<std::size_t>(index), worker);
}

std::optional<WorkerIndex> WorkerPool::first_on(Side side, const Known::Workers& workers) const {
    if (side == Side::any) return first(workers);
    const auto found = std::find_if(workers.begin(), workers.end(), [&](WorkerIndex index) {
        return is_host(at(index).device) == (side == Side::host);
    });
    return found == workers.end() ? std::nullopt : std::optional(*found);
}

std::optional<WorkerIndex> WorkerPool::idle_to_reuse() const {
    const auto reachable = std::ranges::find_if(known_.idle, [this](WorkerIndex index) { return at(index).reachable; });
    return reachable == known_.idle.end() ? first(known_.idle) : std::optional(*reachable);
}

std::int64_t WorkerPool::with_trials() const {
    return std::ranges::count_if(workers_, [](const Worker& worker) { return !worker.jobs.empty(); });
}

std::int64_t WorkerPool::on_host() const {
    return std::count_if(workers_.begin(), workers_.end(),
                         [](const Worker& worker) { return worker.state != State::empty && is_host(worker.device); });
}

std::vector<std::int64_t> WorkerPool::running() const {
    std::vector<std::int64_t> trials;
    for (const Worker& worker : workers_)
        for (const Job& job : worker.jobs)
            if (job.phase == Job::Phase::running) trials.push_back(job.id.trial);
    std::sort(trials.begin(), trials.end());
    return trials;
}

std::vector<WorkerIndex> WorkerPool::started() const {
    std::vector<WorkerIndex> started;
    for (std::size_t index = 0; index < workers_.size(); ++index)
        if (workers_[index].greeted) started.push_back(static_cast<WorkerIndex>(index));
    return started;
}

}  // namespace hpo
