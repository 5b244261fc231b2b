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

/// The attempt that a message names; trial 0: it is of the worker as a whole.
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

WorkerPool::WorkerPool(const Resources& resources, Executor& executor, const Clock& clock, int workers)
    : resources_(resources), executor_(executor), clock_(clock), workers_(static_cast<std::size_t>(workers)) {
    for (WorkerIndex index = 0; index < workers; ++index) touched_.push_back(index);
}

Job* WorkerPool::find(WorkerIndex index, AttemptId id) {
    std::vector<Job>& jobs = at(index).jobs;
    const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const Job& other) { return other.id == id; });
    return job == jobs.end() ? nullptr : &*job;
}

void WorkerPool::launch(WorkerIndex index, const LaunchSpec& spec, int device, const std::vector<int>& more) {
    Worker worker;
    worker.state = State::starting;
    worker.device = device;
    worker.more = more;
    worker.heard = worker.start = clock_.now();
    worker.environment = spec.description;
    at(index) = std::move(worker);
    executor_.launch(index, spec);
}

bool WorkerPool::greet(WorkerIndex index, const from_worker::Hello& hello) {
    Worker& worker = at(index);
    if (worker.state != State::starting) return false;
    worker.state = State::ready;
    worker.greeted = true;
    worker.start = clock_.now() - worker.start;
    worker.pid = hello.pid;
    worker.slots = static_cast<std::size_t>(std::clamp<std::int64_t>(hello.slots, 1, most_slots));
    worker.plans = can(hello, "plan");
    worker.checkpoints = can(hello, "checkpoint");
    worker.shrinks = can(hello, "micro_batch");
    worker.once = can(hello, "once");
    worker.threads = can(hello, "cores");
    return true;
}

void WorkerPool::note_life(WorkerIndex index, const WorkerMessage& message) {
    Worker& worker = workers_.at(static_cast<std::size_t>(index));  // nothing that a question is about changes
    worker.heard = clock_.now();
    const AttemptId id = attempt_of(message);
    for (Job& job : worker.jobs)
        if (job.phase == Job::Phase::running && (job.id == id || id.trial == 0))
            job.heard = worker.heard, job.taken = job.taken || job.id == id;
}

void WorkerPool::forgive_silence() {
    const Seconds now = clock_.now();
    for (Worker& worker : workers_) {
        worker.heard = now;
        for (Job& job : worker.jobs) job.heard = now;
    }
}

Job& WorkerPool::reserve(WorkerIndex index, bool joins, std::string fusion_key, Reservation reservation) {
    Worker& worker = at(index);
    Job job;
    job.id = {reservation.trial, 0};
    give(reservation.trial, index);
    job.joins = joins;
    job.borrowed = worker.borrows;
    job.order = ++launches_;
    job.held.reservation = std::move(reservation);
    worker.shared = !worker.jobs.empty();
    worker.fusion_key = std::move(fusion_key);
    return worker.jobs.emplace_back(std::move(job));
}

Job* WorkerPool::let_go(WorkerIndex index, AttemptId id) {
    Worker& worker = at(index);
    const auto job =
        std::find_if(worker.jobs.begin(), worker.jobs.end(), [&](const Job& other) { return other.id == id; });
    if (job == worker.jobs.end()) return nullptr;
    const bool carried = !job->joins;
    worker.jobs.erase(job);
    forget(id.trial, index);
    worker.warm = true;
    if (worker.jobs.empty()) {
        worker.fusion_key.clear();
        worker.shared = false;
        return nullptr;
    }
    Job& heir = worker.jobs.front();
    if (!carried || !heir.joins) return nullptr;
    heir.joins = false;
    return &heir;
}

void WorkerPool::ask_plan(WorkerIndex index, const to_worker::Plan& question) {
    Worker& worker = at(index);
    worker.planning = question.id;
    give(question.id, index);
    worker.heard = clock_.now();
    executor_.send(index, question);
}

void WorkerPool::plan_answered(WorkerIndex index) {
    const std::int64_t trial = std::exchange(at(index).planning, 0);
    changes_.trials.push_back(trial);
}

void WorkerPool::use_cores(WorkerIndex index, std::vector<int> cores, bool borrows) {
    executor_.send(index, to_worker::Cores{{cores.begin(), cores.end()}});
    Worker& worker = workers_.at(static_cast<std::size_t>(index));  // nothing that a question is about changes
    worker.cores = std::move(cores);
    worker.borrows = borrows;
    for (Job& job : worker.jobs) job.borrowed |= borrows;
}

void WorkerPool::stop_trial(std::int64_t trial) {
    for (std::size_t index = 0; index < workers_.size(); ++index)
        for (Job& job : workers_[index].jobs) {  // what it holds stays as it is
            if (job.id.trial != trial || job.phase != Job::Phase::running) continue;
            job.phase = Job::Phase::ending;
            job.heard = clock_.now();
            executor_.send(static_cast<WorkerIndex>(index), to_worker::Stop{job.id});
        }
}

void WorkerPool::end(WorkerIndex index, const std::string& reason, AttemptId culprit) {
    Worker& worker = at(index);
    if (worker.state == State::empty) return;
    if (worker.kill_reason.empty()) worker.kill_reason = reason;
    if (worker.state != State::leaving) worker.culprit = culprit;
    worker.state = State::leaving;
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
    bool first = true;
    for (std::size_t index = 0; index < workers_.size(); ++index)
        if (workers_[index].idle() && !std::exchange(first, false)) end(static_cast<WorkerIndex>(index), reason);
}

void WorkerPool::end_silent() {
    const Seconds now = clock_.now();
    const double patience = resources_.progress_timeout;
    const auto silent_for = [now](Seconds heard, double seconds) { return (now - heard).count() > seconds; };
    // An attempt that was told to end is not kept alive by its messages, but one that has taken all its steps may still
    // be keeping its model.
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
    Worker& worker = at(index);
    worker.state = State::leaving;
    worker.spent = true;
    executor_.send(index, to_worker::Shutdown{});
}

void WorkerPool::kill_all() {
    for (std::size_t index = 0; index < workers_.size(); ++index)
        if (workers_[index].state != State::empty) executor_.kill(static_cast<WorkerIndex>(index));
}

Worker WorkerPool::remove(WorkerIndex index) {
    for (const Job& job : at(index).jobs) forget(job.id.trial, index);
    forget(at(index).planning, index);
    return std::exchange(at(index), {});
}

void WorkerPool::give(std::int64_t trial, WorkerIndex index) {
    given_to_[trial] = index;
    changes_.trials.push_back(trial);
}

void WorkerPool::forget(std::int64_t trial, WorkerIndex index) {
    changes_.trials.push_back(trial);
    if (const auto found = given_to_.find(trial); found != given_to_.end() && found->second == index)
        given_to_.erase(found);
}

const WorkerPool::Known& WorkerPool::know() const {
    known_.in.resize(workers_.size());
    for (const WorkerIndex index : touched_) {
        const Worker& worker = workers_[static_cast<std::size_t>(index)];
        const bool ready = worker.state == State::ready, starting = worker.state == State::starting;
        // One with many slots answers while it trains.
        const bool answers = worker.plans && ready && worker.planning == 0 && (worker.slots > 1 || worker.jobs.empty());
        const std::pair<Known::Workers*, bool> members[] = {
            {&known_.empty, worker.state == State::empty},
            {&known_.idle, worker.idle()},
            {&known_.starting, starting},
            {&known_.with_free_slot, worker.has_free_slot()},
            {&known_.answers, answers},
            {&known_.answers_soon, starting || (ready && worker.plans && worker.slots > 1)},
            {&known_.answers_idle, worker.idle() && worker.plans},
        };
        std::uint8_t now = 0;
        for (std::size_t i = 0; i < std::size(members); ++i) now |= static_cast<std::uint8_t>(members[i].second << i);
        std::uint8_t& before = known_.in[static_cast<std::size_t>(index)];
        for (std::size_t i = 0; i < std::size(members); ++i) {
            if (((now ^ before) >> i & 1) == 0) continue;
            if (members[i].second)
                members[i].first->insert(index);
            else
                members[i].first->erase(index);
        }
        before = now;
    }
    changes_.workers.insert(changes_.workers.end(), touched_.begin(), touched_.end());
    touched_.clear();
    return known_;
}

std::optional<WorkerIndex> WorkerPool::first_on(Side side, const Known::Workers& workers) const {
    if (side == Side::any) return first(workers);
    const auto found = std::find_if(workers.begin(), workers.end(), [&](WorkerIndex index) {
        return (at(index).device == host_only) == (side == Side::host);
    });
    return found == workers.end() ? std::nullopt : std::optional(*found);
}

std::int64_t WorkerPool::with_trials() const {
    return std::ranges::count_if(workers_, [](const Worker& worker) { return !worker.jobs.empty(); });
}

std::int64_t WorkerPool::on_host() const {
    return std::count_if(workers_.begin(), workers_.end(), [](const Worker& worker) {
        return worker.state != State::empty && worker.device == host_only;
    });
}

WorkerPool::Changes WorkerPool::take_changes() {
    (void)know();
    return std::exchange(changes_, {});
}

std::optional<WorkerIndex> WorkerPool::worker_of(std::int64_t trial) const {
    if (!holds(trial)) return std::nullopt;
    return given_to_.at(trial);
}

bool WorkerPool::holds(std::int64_t trial) const {
    const auto found = given_to_.find(trial);
    if (found == given_to_.end()) return false;
    const Worker& worker = at(found->second);
    return worker.planning == trial ||
           std::any_of(worker.jobs.begin(), worker.jobs.end(), [&](const Job& job) { return job.id.trial == trial; });
}

std::vector<std::int64_t> WorkerPool::running() const {
    std::vector<std::int64_t> trials;
    for (const Worker& worker : workers_)
        for (const Job& job : worker.jobs)
            if (job.phase == Job::Phase::running) trials.push_back(job.id.trial);
    std::sort(trials.begin(), trials.end());
    return trials;
}

std::vector<std::int64_t> WorkerPool::pids() const {
    std::vector<std::int64_t> pids;
    for (const Worker& worker : workers_)
        if (worker.pid) pids.push_back(worker.pid);
    return pids;
}

}  // namespace hpo
