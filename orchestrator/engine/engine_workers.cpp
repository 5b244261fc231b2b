// What workers say, how they end, and how trials end with them.
#include <algorithm>
#include <utility>

#include "hpo/units.hpp"
#include "orchestrator/engine/engine.hpp"
#include "orchestrator/engine/text.hpp"
#include "orchestrator/execution/limits.hpp"
#include "orchestrator/scheduling/out_of_memory.hpp"

namespace hpo {

namespace {

constexpr int failures_in_a_row_allowed = 3;
constexpr std::size_t late_failures_allowed = 6;  // in a row, of trials that had reported
constexpr std::int64_t told_unused = 3;           // reports of an attempt that are told one by one
constexpr std::int64_t told_lines = 1000;         // lines that an attempt may send to the log
constexpr std::int64_t most_slots = 1024;
constexpr Seconds first_pause{0.5}, longest_pause{30};  // in a shortage, between two launches
constexpr double longest_shortage = 600;                // seconds of it without any trial at work

bool can(const from_worker::Hello& hello, const char* what) {
    return std::find(hello.capabilities.begin(), hello.capabilities.end(), what) != hello.capabilities.end();
}

}  // namespace

Engine::Job* Engine::find(Worker& worker, AttemptId id) {
    const auto job =
        std::find_if(worker.jobs.begin(), worker.jobs.end(), [&](const Job& other) { return other.id == id; });
    return job == worker.jobs.end() ? nullptr : &*job;
}

void Engine::on_ready(WorkerIndex index, const from_worker::Hello& hello) {
    launch_failures_ = 0;
    shortage_.reset();
    Worker& worker = workers_.at(static_cast<std::size_t>(index));
    if (worker.state != State::starting) return;
    worker.state = State::ready;
    worker.greeted = true;
    for (const int device : devices_of({.device = worker.device, .more = worker.more}))
        if (device != host_only) health_.started(device);
    worker.pid = hello.pid;
    worker.slots = static_cast<std::size_t>(std::clamp<std::int64_t>(hello.slots, 1, most_slots));
    worker.plans = can(hello, "plan");
    worker.shrinks = can(hello, "micro_batch");
    worker.once = can(hello, "once");
    placement_due_ = true;
    if (worker.plans && !std::exchange(asks_, true)) {
        // It knows better than what was guessed.
        requirements_.clear();
        recall();
    }
    shrinks_ = shrinks_ || worker.shrinks;
    if (worker.jobs.empty()) return;
    const std::int64_t trial = worker.jobs.front().id.trial;
    const auto requirements = requirements_.find(trial);
    const bool waits_for_it = parts_.ledger.record().trial(trial).state == TrialState::queued &&
                              requirements != requirements_.end() && requirements->second.known;
    if (waits_for_it)
        run(index, worker.jobs.front());
    else
        let_go(worker, 0), trial_ended(trial);  // a user may have stopped it meanwhile
}

void Engine::on_said(WorkerIndex index, const WorkerMessage& message) {
    Worker& worker = workers_.at(static_cast<std::size_t>(index));
    worker.heard = parts_.clock.now();
    // Whatever names a trial is its sign of life; `alive` of the worker as a whole is everybody's.
    const auto id = std::visit(
        [](const auto& m) -> AttemptId {
            if constexpr (requires { m.id.trial; })
                return m.id;
            else
                return {};
        },
        message);
    for (Job& job : worker.jobs)
        if (job.phase == Job::Phase::running && (job.id == id || id.trial == 0))
            job.heard = worker.heard, job.taken = job.taken || job.id == id;
    std::visit(Overloaded{
                   [&](const from_worker::PlanAnswer& m) { on_plan(index, m); },
                   [&](const from_worker::Reported& m) { on_report(index, m); },
                   [&](const from_worker::Finished& m) { on_finished(index, m); },
                   [&](const from_worker::Log& m) {
                       if (Job* job = find(worker, m.id); job && ++job->logged <= told_lines)
                           say(Notice::Level::info, m.id.trial, m.text);
                   },
                   [](const auto&) {},
               },
               message);
}

void Engine::on_plan(WorkerIndex index, const from_worker::PlanAnswer& answer) {
    Worker& worker = workers_.at(static_cast<std::size_t>(index));
    if (answer.id != worker.planning || worker.state != State::ready) return;
    worker.planning = 0;
    placement_due_ = true;
    if (is_final(parts_.ledger.record().trial(answer.id).state)) return trial_ended(answer.id);
    if (answer.error.empty()) {
        Requirements& requirements = requirements_[answer.id];
        requirements.footprint = answer.footprint;
        requirements.colocated = answer.colocated;
        requirements.fusion_key = answer.fusion_key;
        // On a unified device the process's memory holds the device's, which the planner adds.
        if (worker.device != host_only && parts_.machine({}, 0).accelerators.at(std::size_t(worker.device)).unified)
            for (Footprint* part : {&requirements.footprint, &requirements.colocated})
                part->host_bytes = std::max<std::int64_t>(0, part->host_bytes - part->device_bytes);
        requirements.footprint = at_least(requirements.footprint, requirements.minimum);
        requirements.alone = requirements.must_run_alone;
        requirements.known = true;
        return;
    }
    parts_.ledger.finish(answer.id, TrialState::failed, "", answer.error);
    trial_failed(answer.id, answer.error);
}

void Engine::on_report(WorkerIndex index, const from_worker::Reported& message) {
    Worker& worker = workers_.at(static_cast<std::size_t>(index));
    const std::int64_t step = message.report.step;
    Job* job = find(worker, message.id);
    if (!job || job->phase != Job::Phase::running || worker.state != State::ready)
        return not_used(job, message.id.trial, "attempt " + std::to_string(message.id.attempt) + " had ended");
    if (step < 1 || step > parts_.study.budget.epochs || step <= job->last_step) {
        not_used(job, message.id.trial,
                 "step " + std::to_string(step) + " came after step " + std::to_string(job->last_step) + " of " +
                     std::to_string(parts_.study.budget.epochs));
        return parts_.executor.send(index, to_worker::Decision{job->id, step, to_worker::Action::go_on});
    }
    reported_anything_ = true;
    job->last_step = step;
    if (step > furthest_failed_) failures_in_a_row_ = 0;  // this one got further
    const Verdict verdict = parts_.ledger.report(job->id.trial, message.report);
    const TrialRecord& trial = parts_.ledger.record().trial(job->id.trial);
    // Every step's warning is in its report; a person is told once an attempt.
    if (!message.report.warning.empty() && !std::exchange(job->warned, true))
        say(Notice::Level::warning, trial.number, message.report.warning);
    if (!worker.shared)
        record_usage(*job, {message.report.peak_device_bytes.value_or(0), message.report.peak_bytes.value_or(0), 0});
    if (trial.state != TrialState::running) job->phase = Job::Phase::ending;
    parts_.executor.send(index, to_worker::Decision{job->id, step, verdict.action});
}

void Engine::on_finished(WorkerIndex index, const from_worker::Finished& message) {
    Worker& worker = workers_.at(static_cast<std::size_t>(index));
    Job* found = find(worker, message.id);
    if (!found || found->phase == Job::Phase::reserved || worker.state != State::ready) return;
    Job job = *found;
    const bool shared = worker.shared;
    let_go(worker, static_cast<std::size_t>(found - worker.jobs.data()));
    placement_due_ = true;
    const std::int64_t trial = job.id.trial;
    end_attempt(job);
    worker.ailing = message.outcome == Outcome::failed || message.outcome == Outcome::out_of_memory;
    // What only says the trial's value again is no news.
    Metrics closing = message.values;
    const auto& metric = parts_.study.objective.metric;
    if (const auto again = closing.find(metric);
        again != closing.end() && parts_.ledger.record().trial(trial).value == again->second)
        closing.erase(again);
    if (!closing.empty()) parts_.ledger.closing(trial, std::move(closing));
    for (const int device : devices_of(job.held.reservation))
        if (device != host_only) health_.worked(device);
    if (worker.once || message.last) {
        // It exits by itself. What it does on the way (keeping a model, say) is its own affair.
        worker.state = State::leaving;
        worker.spent = true;
        parts_.executor.send(index, to_worker::Shutdown{});
    }
    if (job.phase == Job::Phase::ending) {
        if (message.outcome == Outcome::complete && !message.message.empty()) had_more(trial, message.message);
        return trial_ended(trial);
    }

    // The worker ended it by its own account.
    switch (message.outcome) {
        case Outcome::complete:
            parts_.ledger.finish(trial, TrialState::complete, "", message.message);
            return trial_ended(trial);
        case Outcome::diverged:
            parts_.ledger.finish(trial, TrialState::diverged, "", message.message);
            return trial_ended(trial);
        case Outcome::out_of_memory: {
            if (shared) return out_of_shared_memory(trial, message.message);
            const auto memory = find_out_of_memory(message.message, worker.device != host_only);
            return out_of_memory(job, message.message.empty() ? "out of memory" : message.message,
                                 memory ? memory->device : worker.device != host_only);
        }
        default:
            // Of what the exception says, not of the lines of code that raised it.
            if (const auto memory =
                    find_out_of_memory(std::string_view(message.message).substr(0, message.message.find("\n  File \"")),
                                       worker.device != host_only))
                return out_of_memory(job, memory->line, memory->device);
            parts_.ledger.finish(
                trial, TrialState::failed, "",
                message.message.empty() ? "the worker said " + std::string(to_text(message.outcome)) : message.message);
            return trial_failed(trial);
    }
}

/// A trial ended with the last step of its budget, but its worker had more to report: perhaps its reports are not what
/// the study takes for steps.
void Engine::had_more(std::int64_t trial, const std::string& why) {
    const TrialRecord& record = parts_.ledger.record().trial(trial);
    if (record.state != TrialState::complete || !record.reason.empty()) return;
    parts_.ledger.amend(trial, why);
    if (++had_more_ == 1) say(Notice::Level::warning, trial, why);
}

/// A report that makes no sense, or comes too late. A flood of them is told in numbers.
void Engine::not_used(Job* job, std::int64_t trial, const std::string& why) {
    if (!job || ++job->unused <= told_unused) say(Notice::Level::warning, trial, "a report was not used: " + why);
}

/// What an attempt leaves behind as text and figures.
void Engine::end_attempt(Job& job) {
    if (job.unused > told_unused)
        say(Notice::Level::warning, job.id.trial, count(job.unused, "report", "reports") + " in all were not used");
    if (job.logged > told_lines)
        say(Notice::Level::warning, job.id.trial,
            "of " + std::to_string(job.logged) + " lines for the log, " + std::to_string(told_lines) + " were kept");
    keep_peak(job);
    if (job.phase == Job::Phase::running) requirements_[job.id.trial].lasted = parts_.clock.now() - job.begun;
}

void Engine::on_exited(WorkerIndex index, const execution::Exited& exited) {
    Worker gone = std::exchange(workers_.at(static_cast<std::size_t>(index)), {});
    placement_due_ = true;
    const std::string ended = exited.signal ? "the worker died of " + signal_name(exited.signal)
                                            : "the worker exited with status " + std::to_string(exited.code);
    const std::string& cause = gone.kill_reason.empty() ? exited.cause : gone.kill_reason;
    const std::string how = cause.empty() ? ended : cause;
    const bool ended_well = exited.signal == 0 && exited.code == 0;
    if (!gone.greeted) {
        if (closing_) return;
        std::string message = (exited.cause.empty() ? how + " before it said hello" : how) + quoted(exited.log_tail);
        if (is_shortage(0, exited.log_tail)) return ran_short(message);
        if (exited.cause.empty() && !parts_.study.command.empty() && !parts_.study.metrics)
            message +=
                "\n  no argument of worker.command has a placeholder, so that the program must speak with hpo itself "
                "(Python: import hpo). To have it run as it is, give it a placeholder, such as \"--lr={lr}\", or "
                "'metrics: {}' below 'worker', and hpo reads what it prints";
        return gone.device == host_only ? launch_failed(message) : start_failed(gone.device, message);
    }

    std::vector<Job> held_up;  // attempts that end with the worker, not by themselves
    for (Job& job : gone.jobs) {
        end_attempt(job);
        const TrialRecord& trial = parts_.ledger.record().trial(job.id.trial);
        if (is_final(trial.state)) trial_ended(trial.number);  // nobody holds it any more
        if (job.phase != Job::Phase::running || trial.state != TrialState::running) continue;
        if (gone.once && gone.state == State::ready && cause.empty() && ended_well && job.last_step > 0) {
            // It had no more to say.
            parts_.ledger.finish(trial.number, TrialState::complete, "", "");
            trial_ended(trial.number);
        } else {
            held_up.push_back(job);
        }
    }
    // It was on its way out when the trial was handed to it: what ended it is another trial's.
    if (held_up.size() == 1 && gone.state == State::ready && cause.empty() && !exited.out_of_memory_kill &&
        !held_up.front().taken)
        return parts_.ledger.requeue(held_up.front().id.trial, Outcome::lost, false,
                                     "its worker exited before it started the trial");
    AttemptId charged = gone.culprit;
    if (gone.state == State::ready) {
        if (held_up.size() == 1) charged = held_up.front().id;
        if (held_up.empty() && gone.planning) charged = {gone.planning, 0};
    }
    const std::string reason = how + quoted(exited.log_tail);
    const bool on_device = gone.device != host_only;
    const bool device_failed = on_device && exited.signal == 0 && exited.code == device_failed_status;
    if (device_failed && held_up.size() > 1) {
        std::vector<std::int64_t> trials;
        for (const Job& job : held_up) trials.push_back(job.id.trial);
        failed_under(devices_of({.device = gone.device, .more = gone.more}), trials, reason);
    }
    for (const Job& job : held_up) {
        if (job.id == charged || parts_.ledger.record().trial(job.id.trial).state != TrialState::running) continue;
        if (gone.state == State::ready) requirements_[job.id.trial].own_worker = true;
        parts_.ledger.requeue(job.id.trial, Outcome::lost, false, reason);
    }
    if (gone.state == State::ready && held_up.size() > 1)
        say(Notice::Level::warning, 0,
            "a worker with " + count(static_cast<std::int64_t>(held_up.size()), "trial", "trials") +
                " ended; none is blamed, each is tried again in a worker of its own: " + reason);

    if (charged.trial == 0 || is_final(parts_.ledger.record().trial(charged.trial).state)) return;
    if (held_up.size() == 1 && exited.out_of_memory_kill) {
        Job job = held_up.front();
        job.held.used.host_bytes = std::max(job.held.used.host_bytes, exited.peak_bytes);
        return out_of_memory(job, "killed by the kernel's out-of-memory killer", false);
    }
    if (held_up.size() == 1 && gone.state == State::ready && !device_failed)
        if (const auto found = find_out_of_memory(exited.log_tail, on_device))
            return out_of_memory(held_up.front(), how + ": " + found->line, found->device);
    // A worker that hangs may hang in its device's driver.
    const bool silent = gone.state == State::leaving && charged.attempt != 0 && gone.plans;
    if (held_up.size() == 1 && on_device && (gone.state == State::ready || silent)) {
        pending_diagnoses_.push_back({.job = held_up.front(),
                                      .until = parts_.clock.now() + Seconds(DeviceHealth::noticed_after),
                                      .reason = reason,
                                      .device_failed = device_failed || silent});
        return;
    }
    lost(charged, reason);
}

/// The attempt is charged with its worker's end: tried again, or failed.
void Engine::lost(AttemptId id, const std::string& reason) {
    const std::int64_t failures = parts_.ledger.record().trial(id.trial).failures + 1;
    if (failures <= parts_.study.resources.retries) {
        parts_.ledger.requeue(id.trial, Outcome::lost, true, reason);
        return say(Notice::Level::warning, id.trial,
                   reason + "\n  tried again (" + std::to_string(failures) + " of " +
                       std::to_string(parts_.study.resources.retries) + ")");
    }
    parts_.ledger.finish(id.trial, TrialState::failed, "",
                         count(failures, "attempt", "attempts") + " ended: " + reason);
    trial_failed(id.trial);
}

void Engine::on_launch_failed(WorkerIndex index, const execution::LaunchFailed& failed) {
    workers_.at(static_cast<std::size_t>(index)) = {};
    is_shortage(failed.error, failed.message) ? ran_short(failed.message) : launch_failed(failed.message);
}

/// Waited out, with pauses that grow, by time and not by failures: many places fail within a moment. Trials that run
/// go on meanwhile; where none has for so long, the shortage is no passing one.
void Engine::ran_short(const std::string& message) {
    placement_due_ = true;
    const Seconds now = parts_.clock.now();
    if (closing_ || (shortage_ && now < shortage_->until)) return;
    if (!shortage_) {
        shortage_ = {now, Seconds(0), now};
        say(Notice::Level::warning, 0, message + "\n  no worker is started for a while, then it is tried again");
    }
    if (!running().empty()) shortage_->since = now;
    if (const double lasted = (now - shortage_->since).count(); lasted >= longest_shortage)
        return conclude(End::failed, "no worker could be started for " + duration_text(lasted) + ": " + message);
    shortage_->pause = std::clamp(2 * shortage_->pause, first_pause, longest_pause);
    shortage_->until = now + shortage_->pause;
}

void Engine::launch_failed(const std::string& message) {
    placement_due_ = true;
    say(Notice::Level::error, 0, message);
    if (closing_ || ++launch_failures_ < failures_in_a_row_allowed) return;
    conclude(End::failed, count(launch_failures_, "launch", "launches") + " of a worker failed in a row: " + message);
}

// ---- Ends of trials.

void Engine::trial_ended(std::int64_t trial) {
    const TrialRecord& record = parts_.ledger.record().trial(trial);
    if (!is_final(record.state)) return;
    requirements_.erase(trial);
    if (record.state != TrialState::failed) failures_in_a_row_ = 0;
    if (parts_.trial_ended) parts_.trial_ended(record);
}

/// Whether a trial has trained for longer than any of those that failed alike.
bool Engine::another_lasts_longer() const {
    return std::any_of(workers_.begin(), workers_.end(), [&](const Worker& worker) {
        return std::any_of(worker.jobs.begin(), worker.jobs.end(), [&](const Job& job) {
            return job.phase == Job::Phase::running && parts_.clock.now() - job.begun > longest_failed_;
        });
    });
}

/// One cause that fails every trial (no data, a broken script) must not use up the budget.
void Engine::trial_failed(std::int64_t trial, const std::string& kind) {
    const TrialRecord& record = parts_.ledger.record().trial(trial);
    const std::string reason = record.reason;
    const std::string alike = kind.empty() ? kind_of_failure(reason) : kind;
    if (alike != last_failure_) failures_in_a_row_ = 0, longest_failed_ = Seconds(0), furthest_failed_ = 0;
    last_failure_ = alike;
    ++failures_in_a_row_;
    longest_failed_ = std::max(longest_failed_, requirements_[trial].lasted);
    furthest_failed_ = std::max(furthest_failed_, record.steps());
    trial_ended(trial);
    say(Notice::Level::error, trial, reason);
    if (!reported_anything_ && failures_in_a_row_ >= failures_in_a_row_allowed)
        return conclude(End::failed, count(failures_in_a_row_, "trial", "trials") +
                                         " failed before reporting, with the same error: " + reason);
    // Where it is not their parameters that fail them (too large ones, say), which the sampler may learn to avoid. More
    // than run at once: those that began with the first of them have had their time.
    if (!kind.empty()) return;
    const std::size_t many = std::max(late_failures_allowed, running().size() + 2);
    if (static_cast<std::size_t>(failures_in_a_row_) >= many && !another_lasts_longer())
        conclude(
            End::failed,
            count(failures_in_a_row_, "trial", "trials") +
                " failed with the same error, and none got further (fix the cause; the same command then resumes with "
                "the remaining trials): " +
                reason);
}

}  // namespace hpo
