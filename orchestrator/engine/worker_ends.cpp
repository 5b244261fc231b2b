#include "orchestrator/engine/worker_ends.hpp"

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include "orchestrator/engine/text.hpp"
#include "orchestrator/execution/limits.hpp"
#include "orchestrator/scheduling/out_of_memory.hpp"
#include "orchestrator/script/syntax/failure_reason.hpp"
#include "orchestrator/script/syntax/signal_signs.hpp"
#include "orchestrator/script/task.hpp"

namespace hpo {

namespace {

/// Returns the signal of which a process below the worker died, if the worker is a shell or another launcher.
std::optional<int> signal_below(const execution::Exited& exited) {
    if (exited.code == 0) return std::nullopt;
    const script::FailureReason reason = script::failure_reason(exited.log_tail);
    for (const std::string& line : reason.rest)
        if (const auto signal = script::signal_named(line)) return signal;
    return script::signal_of_status(exited.code);
}

}  // namespace

void WorkerEnds::exited(WorkerIndex index, const execution::Exited& exited) {
    End end{.worker = uses_.pool.remove(index), .exited = exited};
    end.cause = end.worker.kill_reason.empty() ? exited.cause : end.worker.kill_reason;
    // The adapter of a script ends as its command did.
    const bool is_command = end.worker.greeted && script::has_adapter(uses_.context.parts.study);
    const std::string who = is_command ? "the command" : "the worker";
    end.how = !end.cause.empty() ? end.cause
              : exited.signal    ? who + " died of " + signal_name(exited.signal)
                                 : who + " exited with status " + std::to_string(exited.code);
    const std::optional<int> signal = exited.signal ? exited.signal : signal_below(exited);
    if (end.cause.empty() && !exited.signal && signal)
        end.how += ", as if one of its processes had died of " + signal_name(*signal);
    end.memory_kill = exited.out_of_memory_kill && signal == SIGKILL;
    // Readings are too rare to show the memory of a short trial.
    if (end.worker.jobs.size() == 1 && !end.worker.shared && (end.memory_kill || !end.worker.warm)) {
        std::int64_t& seen = end.worker.jobs.front().held.used.host_bytes;
        seen = std::max(seen, exited.peak_bytes);
    }
    if (!end.worker.greeted) return ended_before_hello(end);
    end.reason = end.how + quoted(exited.log_tail);
    end.device_failed = end.on_device() && exited.signal == 0 && exited.code == device_failed_status;
    release_ended_trials(end);
    // The worker was about to exit when it got the trial: another trial caused its end.
    if (end.held.size() == 1 && end.by_itself() && end.cause.empty() && !end.memory_kill && !end.held.front().taken)
        return uses_.context.parts.ledger.requeue(end.held.front().id.trial, Outcome::lost, false,
                                                  "its worker exited before it started the trial");
    const AttemptId charged = charged_by(end);
    queue_uncharged(end, charged);
    if (charged.trial != 0 && !is_final(uses_.context.trial(charged.trial).state)) charge(end, charged);
}

void WorkerEnds::ended_before_hello(const End& end) {
    if (uses_.context.closing() || end.exited.host_lost) return;
    const std::string& output = end.exited.log_tail;
    const bool ended_by_executor = !end.exited.cause.empty();
    std::string message = end.how + (ended_by_executor ? "" : " before it said hello") + quoted(output);
    if (is_launch_shortage(0, output)) return ran_short(message);
    const Study& study = uses_.context.parts.study;
    if (!ended_by_executor && study.script() && !script::has_adapter(study))
        message += std::string("\n  ") + script::needs_client;
    end.on_device() ? uses_.devices.start_failed(end.worker.device, message) : start_failed(message);
}

/// Releases attempts that had ended in the store, or that end well with the worker. `end.held` has the others.
void WorkerEnds::release_ended_trials(End& end) {
    const bool may_end_a_trial =
        end.worker.once && end.by_itself() && end.cause.empty() && end.exited.signal == 0 && end.exited.code == 0;
    for (const Job& job : end.worker.jobs) {
        uses_.attempts.sum_up(job);
        const TrialRecord& trial = uses_.context.trial(job.id.trial);
        uses_.ends.announce(trial.number);
        if (job.phase != Job::Phase::running || trial.state != TrialState::running) continue;
        if (!may_end_a_trial || !job.taken)
            end.held.push_back(job);
        else if (const auto missing = uses_.ends.missing_steps(job); !missing.empty())
            uses_.ends.charge(job.id, missing);
        else if (trial.value)  // the trial has reported all its steps
            uses_.ends.finish(trial.number, TrialState::complete, "", "");
        else
            uses_.ends.ended_without_value(trial.number, "");
    }
}

/// Returns the attempt that is charged with the worker's end; trial 0: none.
AttemptId WorkerEnds::charged_by(const End& end) const {
    if (end.exited.host_lost) return {};
    if (!end.by_itself()) return end.worker.culprit;
    if (end.held.size() == 1) return end.held.front().id;
    if (end.held.empty() && end.worker.planning) return {end.worker.planning, 0};
    return end.worker.culprit;
}

void WorkerEnds::queue_uncharged(const End& end, AttemptId charged) {
    const bool several = end.held.size() > 1;
    if (end.device_failed && several) {
        std::vector<std::int64_t> trials;
        for (const Job& job : end.held) trials.push_back(job.id.trial);
        uses_.devices.failed_under(devices_of({.device = end.worker.device, .more = end.worker.more}), trials,
                                   end.reason);
    }
    for (const Job& job : end.held) {
        if (job.id == charged || uses_.context.trial(job.id.trial).state != TrialState::running) continue;
        if (end.by_itself()) uses_.requirements.use_own_worker(job.id.trial);
        uses_.ends.requeue_without_blame(job.id.trial, end.reason);
    }
    if (end.by_itself() && several)
        uses_.context.say(Notice::Level::warning, 0,
                          "a worker with " + counted(static_cast<std::int64_t>(end.held.size()), "trial") +
                              " ended; each trial is tried again in its own worker, without blame: " + end.reason);
}

/// Charges one attempt with the worker's end, unless memory or the device is the cause.
void WorkerEnds::charge(const End& end, AttemptId charged) {
    const execution::Exited& exited = end.exited;
    if (end.held.size() != 1) return uses_.ends.charge(charged, end.reason);
    const Job& job = end.held.front();
    if (end.memory_kill) return uses_.memory.ran_out(job, "killed by the kernel's out-of-memory killer", false);
    if (end.by_itself() && !end.device_failed)
        if (const auto found = find_out_of_memory(script::failure_reason(exited.log_tail).evidence, end.on_device()))
            return uses_.memory.ran_out(job, end.how + ": " + found->line, found->device);
    // A worker that hangs may hang in its device's driver.
    const bool silent = end.worker.state == Worker::State::leaving && charged.attempt != 0 && end.worker.plans;
    if (!end.on_device() || !(end.by_itself() || silent)) return uses_.ends.charge(charged, end.reason);
    uses_.diagnoses.add({.job = job,
                         .until = uses_.context.now() + Seconds(DeviceHealth::noticed_after),
                         .reason = end.reason,
                         .device_failed = end.device_failed || silent});
}

void WorkerEnds::launch_failed(WorkerIndex index, const execution::LaunchFailed& failed) {
    uses_.pool.remove(index);
    is_launch_shortage(failed.error, failed.message) ? ran_short(failed.message) : start_failed(failed.message);
}

void WorkerEnds::start_failed(const std::string& message) {
    uses_.context.say(Notice::Level::error, 0, message);
    if (uses_.context.closing()) return;
    if (const auto why = uses_.launches.failed(message)) uses_.context.conclude(SessionEnd::failed, *why);
}

void WorkerEnds::ran_short(const std::string& message) {
    if (uses_.context.closing()) return;
    const auto shortage = uses_.launches.ran_short(message, !uses_.pool.running().empty(), uses_.context.now());
    if (shortage.begins)
        uses_.context.say(Notice::Level::warning, 0,
                          message + "\n  no worker is started for a while, then it is tried again");
    if (shortage.over) uses_.context.conclude(SessionEnd::failed, *shortage.over);
}

// ---- Ends with a later diagnosis.

void WorkerEnds::diagnose_pending() {
    if (uses_.diagnoses.empty() || uses_.context.closing()) return;
    uses_.diagnoses.read(uses_.machine.for_trials());
    while (!uses_.context.closing()) {
        const auto due = uses_.diagnoses.take_due(uses_.health, uses_.context.now());
        if (!due) return;
        settle(due->diagnosis, due->device_lost);
    }
}

void WorkerEnds::settle(const PendingDiagnosis& diagnosis, bool device_lost) {
    const AttemptId id = diagnosis.job.id;
    if (diagnosis.out_of_memory) return uses_.memory.go_on(diagnosis.job, diagnosis.reason, true, diagnosis.others);
    if (uses_.context.trial(id.trial).state != TrialState::running) return;
    const std::vector<int> devices = devices_of(diagnosis.job.held.reservation);
    if (device_lost ||
        (diagnosis.device_failed && uses_.devices.failed_under(devices, {&id.trial, 1}, diagnosis.reason)))
        return uses_.ends.requeue_without_blame(id.trial, "its device was lost: " + diagnosis.reason);
    if (diagnosis.device_failed || !died_together(diagnosis)) uses_.ends.charge(id, diagnosis.reason);
}

/// Handles several workers that died on a device within moments, as one process's fault may end all that share the
/// device. No attempt is charged. Each trial is retried alone, where the culprit shows.
bool WorkerEnds::died_together(const PendingDiagnosis& first) {
    std::vector<PendingDiagnosis> all = uses_.diagnoses.take_deaths_with(
        first, [&](std::int64_t trial) { return uses_.context.trial(trial).state == TrialState::running; });
    if (all.empty()) return false;
    all.insert(all.begin(), first);
    const std::string together = counted(static_cast<std::int64_t>(all.size()), "worker") + " on device " +
                                 uses_.machine.id_of(first.job.held.reservation.device) + " died at the same time";
    uses_.context.say(Notice::Level::warning, 0,
                      together + "; none is blamed, each trial is tried again alone: " + first.reason);
    for (const PendingDiagnosis& diagnosis : all) {
        uses_.requirements.run_alone(diagnosis.job.id.trial);
        uses_.ends.requeue_without_blame(diagnosis.job.id.trial, together + ": " + diagnosis.reason);
    }
    return true;
}

}  // namespace hpo
