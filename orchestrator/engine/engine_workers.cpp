// The engine's other half: what workers say, how they end, and how trials end with them.
#include <utility>

#include "orchestrator/engine/engine.hpp"
#include "orchestrator/engine/words.hpp"

namespace hpo {

namespace {

constexpr int failures_in_a_row_allowed = 3;
constexpr int memory_deaths_allowed = 3;
constexpr std::int64_t told_unused = 3;    // reports of an attempt that are told one by one
constexpr std::int64_t told_lines = 1000;  // lines that an attempt may send to the log

}  // namespace

void Engine::on_ready(Place place, const from_worker::Hello& hello) {
    launch_failures_ = 0;
    Worker& worker = places_.at(place);
    if (worker.state != State::starting) return;
    worker.state = State::idle;
    worker.greeted = true;
    worker.pid = hello.pid;
    worker.plans = std::find(hello.capabilities.begin(), hello.capabilities.end(), "plan") != hello.capabilities.end();
}

void Engine::on_said(Place place, const WorkerMessage& message) {
    if (places_.at(place).state != State::ending) places_.at(place).heard = parts_.clock.now();
    std::visit(Overloaded{
                   [&](const from_worker::PlanAnswer& m) { on_plan(place, m); },
                   [&](const from_worker::Reported& m) { on_report(place, m); },
                   [&](const from_worker::Finished& m) { on_finished(place, m); },
                   [&](const from_worker::Log& m) {
                       if (++places_.at(place).logged <= told_lines) say(Notice::Level::info, m.id.trial, m.text);
                   },
                   [](const auto&) {},
               },
               message);
}

void Engine::on_plan(Place place, const from_worker::PlanAnswer& answer) {
    Worker& worker = places_.at(place);
    if (worker.state != State::planning || answer.id != worker.id.trial) return;
    worker.state = State::idle;
    if (is_final(parts_.ledger.record().trial(answer.id).state)) return;
    if (answer.error.empty()) {
        footprints_[answer.id] = answer.footprint;
        return;
    }
    parts_.ledger.finish(answer.id, TrialState::failed, "", answer.error);
    trial_failed(answer.id);
}

void Engine::on_report(Place place, const from_worker::Reported& message) {
    Worker& worker = places_.at(place);
    const std::int64_t step = message.report.step;
    if (worker.state != State::running || message.id != worker.id)
        return not_used(worker, message.id.trial, "attempt " + std::to_string(message.id.attempt) + " had ended");
    if (step < 1 || step > parts_.study.budget.epochs || step <= worker.last_step) {
        not_used(worker, message.id.trial,
                 "step " + std::to_string(step) + " came after step " + std::to_string(worker.last_step) + " of " +
                     std::to_string(parts_.study.budget.epochs));
        return parts_.executor.send(place, to_worker::Decision{worker.id, step, to_worker::Action::go_on});
    }
    reported_anything_ = true;
    worker.last_step = step;
    const Verdict verdict = parts_.ledger.report(worker.id.trial, message.report);
    const TrialRecord& trial = parts_.ledger.record().trial(worker.id.trial);
    // Every step's warning is in its report; a person is told once an attempt.
    if (!message.report.warning.empty() && !std::exchange(worker.warned, true))
        say(Notice::Level::warning, trial.number, message.report.warning);
    if (trial.state != TrialState::running) {
        worker.state = State::ending;
        if (is_final(trial.state)) footprints_.erase(trial.number);
    }
    parts_.executor.send(place, to_worker::Decision{worker.id, step, verdict.action});
}

void Engine::on_finished(Place place, const from_worker::Finished& message) {
    Worker& worker = places_.at(place);
    if (message.id != worker.id || (worker.state != State::running && worker.state != State::ending)) return;
    const bool decided = worker.state == State::ending;
    const std::int64_t trial = worker.id.trial;
    end_attempt(worker);
    worker.state = State::idle;
    if (decided) return trial_ended(trial);

    // The worker ended by its own account.
    switch (message.outcome) {
        case Outcome::complete:
            parts_.ledger.finish(trial, TrialState::complete, "", message.message);
            return trial_ended(trial);
        case Outcome::diverged:
            parts_.ledger.finish(trial, TrialState::diverged, "", message.message);
            return trial_ended(trial);
        case Outcome::out_of_memory:
            return out_of_memory(trial, message.message, 0);
        default:
            parts_.ledger.finish(
                trial, TrialState::failed, "",
                message.message.empty() ? "the worker said " + std::string(to_text(message.outcome)) : message.message);
            return trial_failed(trial);
    }
}

/// A report that makes no sense, or comes too late. A flood of them is told in numbers.
void Engine::not_used(Worker& worker, std::int64_t trial, const std::string& why) {
    if (++worker.unused <= told_unused) say(Notice::Level::warning, trial, "a report was not used: " + why);
}

void Engine::end_attempt(Worker& worker) {
    if (worker.unused > told_unused)
        say(Notice::Level::warning, worker.id.trial,
            count(worker.unused, "report", "reports") + " in all were not used");
    if (worker.logged > told_lines)
        say(Notice::Level::warning, worker.id.trial,
            "of " + std::to_string(worker.logged) + " lines for the log, " + std::to_string(told_lines) + " were kept");
    worker.unused = worker.logged = worker.last_step = 0;
    worker.warned = false;
    worker.id = {};
}

void Engine::on_exited(Place place, const execution::Exited& exited) {
    const Worker gone = std::exchange(places_.at(place), {});
    Worker last = gone;
    end_attempt(last);
    const std::string ended = exited.signal ? "the worker died of " + signal_name(exited.signal)
                                            : "the worker exited with status " + std::to_string(exited.code);
    const std::string& cause = gone.kill_reason.empty() ? exited.cause : gone.kill_reason;
    const std::string how = cause.empty() ? ended : cause;
    if (!gone.greeted) {
        if (closing_) return;
        return launch_failed((exited.cause.empty() ? how + " before it said hello" : how) + quoted(exited.log_tail));
    }

    if (gone.id.trial != 0) trial_ended(gone.id.trial);  // if it has: nobody holds it any more
    const AttemptId id = gone.state == State::leaving ? gone.overdue : gone.id;
    const bool charged = gone.state == State::running || gone.state == State::planning || gone.state == State::leaving;
    if (!charged || id.trial == 0 || is_final(parts_.ledger.record().trial(id.trial).state)) return;

    if (exited.out_of_memory_kill)
        return out_of_memory(id.trial, "killed by the kernel's out-of-memory killer", exited.peak_bytes);
    const std::string reason = how + quoted(exited.log_tail);
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

/// Not the trial's fault: queued again with a larger booking; after three such deaths it fails with the numbers.
void Engine::out_of_memory(std::int64_t trial, const std::string& message, std::int64_t peak) {
    Footprint& footprint = footprints_[trial];
    footprint.host_bytes = std::max(footprint.host_bytes + footprint.host_bytes / 2, peak + peak / 4);
    if (++memory_deaths_[trial] < memory_deaths_allowed) {
        parts_.ledger.requeue(trial, Outcome::out_of_memory, false, message);
        return say(Notice::Level::warning, trial,
                   message + "; queued again with " + std::to_string(footprint.host_bytes >> 20) + " MiB booked");
    }
    parts_.ledger.finish(trial, TrialState::failed, "",
                         message + ", " + count(memory_deaths_allowed, "time", "times") +
                             "; last booked: " + std::to_string(footprint.host_bytes >> 20) + " MiB");
    trial_failed(trial);
}

void Engine::on_launch_failed(Place place, const execution::LaunchFailed& failed) {
    places_.at(place) = {};
    launch_failed(failed.message);
}

void Engine::launch_failed(const std::string& message) {
    say(Notice::Level::error, 0, message);
    if (closing_ || ++launch_failures_ < failures_in_a_row_allowed) return;
    conclude(End::failed, count(launch_failures_, "launch", "launches") + " of a worker failed in a row: " + message);
}

// ---- Ends of trials.

void Engine::trial_ended(std::int64_t trial) {
    const TrialRecord& record = parts_.ledger.record().trial(trial);
    if (!is_final(record.state)) return;
    footprints_.erase(trial);
    memory_deaths_.erase(trial);
    if (record.state != TrialState::failed) failures_in_a_row_ = 0;
    if (parts_.trial_ended) parts_.trial_ended(record);
}

/// One cause that fails every trial (no data, a broken script) must not use up the budget.
void Engine::trial_failed(std::int64_t trial, const std::string& kind) {
    const std::string reason = parts_.ledger.record().trial(trial).reason;
    trial_ended(trial);
    say(Notice::Level::error, trial, reason);
    const std::string& alike = kind.empty() ? reason : kind;
    failures_in_a_row_ = alike == last_failure_ ? failures_in_a_row_ + 1 : 1;
    last_failure_ = alike;
    if (!reported_anything_ && failures_in_a_row_ >= failures_in_a_row_allowed)
        conclude(End::failed,
                 count(failures_in_a_row_, "trial", "trials") + " failed alike, and none ever reported: " + reason);
}

}  // namespace hpo
