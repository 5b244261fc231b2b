// The engine's life: what comes in, time, and how a session ends. Which trial goes where is decided in
// engine_placing.cpp, what workers say is heard in engine_workers.cpp, memory is watched in engine_memory.cpp.
#include "orchestrator/engine/engine.hpp"

#include <algorithm>

#include "orchestrator/engine/text.hpp"

namespace hpo {

namespace {

constexpr double ending_patience = 60;      // seconds from the decision that ends an attempt to the worker's last word
constexpr std::size_t closed_at_once = 50;  // paused trials that end with the study, before others are heard again
constexpr double held_up_after = 3;         // seconds between two ticks, which come every second

}  // namespace

Engine::Engine(EngineParts parts, int workers)
    : parts_(std::move(parts)),
      supply_(parts_.study, parts_.ledger),
      workers_(static_cast<std::size_t>(workers)),
      model_(parts_.study.resources.trial, parts_.on_device) {
    started_ = parts_.clock.now();
    seconds_before_ = parts_.ledger.record().seconds;
    asks_ = shrinks_ = parts_.study.command.empty();
}

void Engine::say(Notice::Level level, std::int64_t trial, const std::string& text) const {
    if (parts_.notice) parts_.notice({level, trial, text});
}

double Engine::seconds() const { return seconds_before_ + (parts_.clock.now() - started_).count(); }

bool Engine::done() const {
    return closing_ &&
           std::all_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.state == State::empty; });
}

std::vector<std::int64_t> Engine::running() const {
    std::vector<std::int64_t> trials;
    for (const Worker& worker : workers_)
        for (const Job& job : worker.jobs)
            if (job.phase == Job::Phase::running) trials.push_back(job.id.trial);
    std::sort(trials.begin(), trials.end());
    return trials;
}

std::vector<HeldResources> Engine::held_resources() const {
    std::map<std::int64_t, HeldResources> launched;
    for (const Worker& worker : workers_)
        for (const Job& job : worker.jobs) launched[job.order] = job.held;
    for (const PendingDiagnosis& diagnosis : pending_diagnoses_) launched[diagnosis.job.order] = diagnosis.job.held;
    std::vector<HeldResources> all;
    for (auto& [order, held] : launched) all.push_back(std::move(held));
    return all;
}

std::vector<std::int64_t> Engine::workers() const {
    std::vector<std::int64_t> pids;
    for (const Worker& worker : workers_)
        if (worker.pid) pids.push_back(worker.pid);
    return pids;
}

// ---- What comes in. A store that fails ends the study: nothing is launched, and no worker is answered, because of an
// event that was not stored.

template <class F>
void Engine::guarded(F&& handle) {
    try {
        handle();
        advance();
    } catch (const StoreFailed& failed) {
        conclude(End::failed, std::string("the study's database cannot be written: ") + failed.what());
    }
}

void Engine::start() {
    guarded([this] {
        // A killed session may have stored a trial's step but not what followed from it: its end, or its pause.
        for (const std::int64_t number : std::set(parts_.ledger.unfinished())) {
            if (parts_.ledger.record().trial(number).state == TrialState::paused) continue;
            parts_.ledger.judge(number);
            trial_ended(number);
        }
        recall();
        warm_up();
    });
}

void Engine::on(WorkerIndex index, const execution::What& what) {
    guarded([&] {
        std::visit(Overloaded{
                       [&](const execution::Ready& ready) { on_ready(index, ready.hello); },
                       [&](const execution::Said& said) { on_said(index, said.message); },
                       [&](const execution::Exited& exited) { on_exited(index, exited); },
                       [&](const execution::LaunchFailed& failed) { on_launch_failed(index, failed); },
                       [&](const execution::Remark& remark) {
                           if (remarks_.insert(remark.text).second) say(Notice::Level::warning, 0, remark.text);
                       },
                       [&](const execution::Garbage& garbage) {
                           const auto& jobs = workers_.at(static_cast<std::size_t>(index)).jobs;
                           say(Notice::Level::warning, jobs.size() == 1 ? jobs.front().id.trial : 0,
                               count(garbage.lines, "line", "lines") + " from worker " + std::to_string(index) +
                                   " ignored: " + garbage.example);
                       },
                   },
                   what);
    });
}

void Engine::tick() {
    guarded([this] {
        parts_.ledger.summarize();
        if (closing_) return;
        if (out_of_time()) return conclude(End::finished, "the time budget is used up");
        forgive_own_delay();
        end_the_silent();
        measure();
        set_lost_devices_aside();
        diagnose_pending();
        placement_due_ = true;  // other programs may have freed memory
    });
}

bool Engine::out_of_time() const {
    const auto& budget = parts_.study.budget;
    return budget.seconds && seconds() >= *budget.seconds;
}

/// Where this process was held up itself (a suspended machine, a blocked terminal, a locked database), it read no
/// messages of workers: their silence counts from now.
void Engine::forgive_own_delay() {
    const Seconds now = parts_.clock.now();
    if (last_tick_ && (now - *last_tick_).count() > held_up_after)
        for (Worker& worker : workers_) {
            worker.heard = now;
            for (Job& job : worker.jobs) job.heard = now;
        }
    last_tick_ = now;
}

void Engine::end_the_silent() {
    const Seconds now = parts_.clock.now();
    const double patience = parts_.study.resources.progress_timeout;
    const std::string silent =
        "silent for " + to_text(Value(std::int64_t(patience))) + " s (resources.progress_timeout)";
    for (std::size_t index = 0; index < workers_.size(); ++index) {
        Worker& worker = workers_[index];
        if (worker.spent && (now - worker.heard).count() > patience) {
            worker.spent = false;
            leave(static_cast<WorkerIndex>(index), silent);
            continue;
        }
        if (worker.state != State::starting && worker.state != State::ready) continue;
        const bool owes_answer = worker.state == State::starting || worker.planning != 0;
        if (owes_answer && (now - worker.heard).count() > patience) {
            leave(static_cast<WorkerIndex>(index), silent, {worker.planning, 0});
            continue;
        }
        for (const Job& job : worker.jobs) {
            // An attempt that was told to end is not kept alive by words.
            const bool ending = job.phase == Job::Phase::ending;
            const bool complete = parts_.ledger.record().trial(job.id.trial).state == TrialState::complete;
            const double allowed = ending && !complete ? std::min(patience, ending_patience) : patience;
            if (job.phase == Job::Phase::reserved || (now - job.heard).count() <= allowed) continue;
            leave(static_cast<WorkerIndex>(index), silent, ending ? AttemptId{} : job.id);
            break;
        }
    }
}

void Engine::go_on() {
    guarded([] {});
}

void Engine::flush() {
    guarded([this] { parts_.ledger.flush(); });
}

void Engine::interrupt(const std::string& reason) { conclude(End::interrupted, reason); }

void Engine::fail(const std::string& reason) { conclude(End::failed, reason); }

void Engine::kill() {
    if (!closing_) conclude(End::interrupted, "killed");
    for (std::size_t index = 0; index < workers_.size(); ++index)
        if (workers_[index].state != State::empty) parts_.executor.kill(static_cast<WorkerIndex>(index));
}

Result<void> Engine::stop_trial(std::int64_t number) {
    const auto& trials = parts_.ledger.record().trials;
    if (number < 1 || number > static_cast<std::int64_t>(trials.size()))
        return Error{"there is no trial " + std::to_string(number) + "; the last one is " +
                     std::to_string(trials.size())};
    if (const TrialState state = parts_.ledger.record().trial(number).state; is_final(state))
        return Error{"trial " + std::to_string(number) + " has ended already: " + std::string(to_text(state))};
    guarded([&] {
        parts_.ledger.finish(number, TrialState::stopped, "user", "stopped by the user");
        placement_due_ = true;
        std::erase_if(pending_diagnoses_,
                      [&](const PendingDiagnosis& diagnosis) { return diagnosis.job.id.trial == number; });
        for (std::size_t index = 0; index < workers_.size(); ++index)
            for (Job& job : workers_[index].jobs) {
                if (job.id.trial != number || job.phase != Job::Phase::running) continue;
                job.phase = Job::Phase::ending;
                job.heard = parts_.clock.now();
                parts_.executor.send(static_cast<WorkerIndex>(index), to_worker::Stop{job.id});
            }
        if (!assigned(number)) trial_ended(number);
    });
    return {};
}

// ---- How it ends.

/// What follows from whatever has happened: trials start where they fit, and without any the study ends.
void Engine::advance() {
    if (closing_) return;
    if (std::exchange(placement_due_, false)) place_trials();
    if (closing_ || has_work()) return;
    end_paused_trials();
    if (!more_to_close_) conclude(End::finished, supply_.why_over());
}

bool Engine::has_work() const {
    const bool busy = std::any_of(workers_.begin(), workers_.end(),
                                  [](const Worker& w) { return w.state != State::empty && !w.idle(); });
    return busy || !pending_diagnoses_.empty() || work_left() > 0;
}

/// Paused trials that no rule promotes any more end with the study, some at a time.
void Engine::end_paused_trials() {
    const auto closed = parts_.ledger.close_paused(closed_at_once);
    for (const std::int64_t trial : closed) trial_ended(trial);
    more_to_close_ = closed.size() == closed_at_once;
}

/// Asks a worker to leave: Shutdown, TERM, and KILL after the grace period. What it holds stays reserved until it is
/// gone.
void Engine::leave(WorkerIndex index, const std::string& reason, AttemptId culprit) {
    Worker& worker = workers_.at(static_cast<std::size_t>(index));
    if (worker.state == State::empty) return;
    if (worker.kill_reason.empty()) worker.kill_reason = reason;
    if (worker.state != State::leaving) worker.culprit = culprit;
    worker.state = State::leaving;
    parts_.executor.send(index, to_worker::Shutdown{});
    parts_.executor.terminate(index, parts_.study.resources.grace);
}

void Engine::conclude(End end, const std::string& reason) {
    if (closing_) return;
    closing_ = true;
    end_ = end;
    end_reason_ = reason;
    if (had_more_ > 1)
        say(Notice::Level::warning, 0,
            count(had_more_, "trial was", "trials were") +
                " ended with the last step of budget.epochs and had more to report: the reason of each says what that "
                "may mean");
    const auto requeue = [&](std::int64_t trial) {
        if (parts_.ledger.record().trial(trial).state != TrialState::running) return;
        try {
            parts_.ledger.requeue(trial, Outcome::interrupted, false, reason);
        } catch (const StoreFailed&) {
            // The next session finds it running without a worker, and queues it again.
        }
    };
    for (const PendingDiagnosis& diagnosis : pending_diagnoses_) requeue(diagnosis.job.id.trial);
    pending_diagnoses_.clear();
    for (std::size_t index = 0; index < workers_.size(); ++index) {
        for (const Job& job : workers_[index].jobs)
            if (job.phase == Job::Phase::running) requeue(job.id.trial);
        leave(static_cast<WorkerIndex>(index), reason);
    }
}

}  // namespace hpo
