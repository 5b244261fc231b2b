#include "orchestrator/engine/attempts.hpp"

#include <algorithm>
#include <utility>

#include "hpo/random.hpp"
#include "hpo/step_name.hpp"
#include "orchestrator/calibration/kept_concurrency.hpp"
#include "orchestrator/engine/text.hpp"
#include "orchestrator/scheduling/out_of_memory.hpp"

namespace hpo {

namespace {

constexpr std::int64_t most_unused_warnings = 3;  // per attempt, one for each report
constexpr std::int64_t most_log_lines = 1000;     // log lines accepted from an attempt

/// The message that starts an attempt.
to_worker::Run run_message(const EngineContext& context, AttemptId id, Params params, const Worker& worker) {
    const EngineParts& parts = context.parts;
    to_worker::Run run;
    run.id = id;
    run.params = std::move(params);
    run.steps = parts.study.budget.epochs;
    const auto fixed = run.params.find("seed");
    run.seed = fixed != run.params.end() ? static_cast<std::uint64_t>(number_or(fixed->second, 0))
                                         : trial_seed(parts.study.seed, static_cast<std::uint64_t>(id.trial));
    run.data_seed = parts.study.seed;
    run.objective = parts.study.objective;
    // hpo-worker and the clients that come with hpo make the folder themselves.
    run.folder = parts.checkpoints(id.trial, worker.checkpoints && parts.study.script()).string();
    run.resume = id.attempt > 1;
    if (run.resume) {
        const TrialRecord& trial = context.trial(id.trial);
        run.done = trial.curve.empty() ? to_worker::Done{}
                                       : to_worker::Done{.step = trial.curve.back().step,
                                                         .iteration = trial.curve.back().iteration,
                                                         .seconds = trial.curve.back().seconds};
        run.done->stride = stride_of(parts.ledger.record().trials, trial);
    }
    if (worker.slots > 1) run.log = parts.log_file(id.trial).string();
    return run;
}

/// Returns the text with # for each number, so that "loss 9.3e-05" and "loss -0.5" are one, and "eval" and "val" are
/// not.
std::string without_numbers(std::string_view text) {
    const auto is_digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
    const auto is_sign = [&](std::size_t at) { return at < text.size() && (text[at] == '-' || text[at] == '+'); };
    std::string without;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = is_sign(at) ? at + 1 : at;
        if (!is_digit(begin)) {
            without += text[at++];
            continue;
        }
        at = begin;
        while (is_digit(at) || (at < text.size() && text[at] == '.' && is_digit(at + 1))) ++at;
        if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
            const std::size_t exponent = is_sign(at + 1) ? at + 2 : at + 1;
            if (is_digit(exponent))
                for (at = exponent; is_digit(at);) ++at;
        }
        without += '#';
    }
    return without;
}

}  // namespace

void Attempts::begin(WorkerIndex index, Job& job) {
    EngineContext& context = uses_.context;
    const EngineParts& parts = context.parts;
    const Worker& worker = uses_.pool.at(index);
    const std::int64_t trial = job.id.trial;
    const Reservation& reservation = job.held.reservation;
    const TrialRequirements& needs = uses_.requirements.of(trial);
    Allocation allocation{
        reservation.footprint, "", reservation.alone, needs.micro_batches, worker.environment, forecast(worker, trial),
        worker.start.count()};
    std::string where = "cpu " + std::to_string(parts.host_name ? worker.number : index);
    if (!is_host(reservation.device)) {
        where = "gpu ";
        for (const int device : devices_of(reservation)) {
            const bool first = device == reservation.device;
            allocation.device += (first ? "" : ",") + uses_.machine.id_of(device);
            where += (first ? "" : "+") + std::to_string(device);
        }
    }
    allocation.host = uses_.machine.host_name_of(reservation.device);
    if (!allocation.host.empty()) where += " on " + allocation.host;
    uses_.pool.begin(index, job, {trial, parts.ledger.launch(trial, where, std::move(allocation))});
    if (const std::string why = uses_.requirements.take_shrunk(trial); !why.empty())
        context.say(Notice::Level::info, trial,
                    std::string("its batch is trained in ") +
                        (uses_.requirements.may_recompute(trial) ? "the memory of " : "") +
                        std::to_string(needs.micro_batches) + " micro-batches: as it is it " + why);
    context.executor.log_to(index, parts.log_file(trial));
    context.executor.send(index, run_message(context, job.id, uses_.requirements.configuration(trial), worker));
}

/// Returns the predicted step of an attempt that begins in the worker.
StepForecast Attempts::forecast(const Worker& worker, std::int64_t trial) const {
    const auto& work = uses_.requirements.of(trial).work;
    if (!work || !worker.more.empty()) return {};
    StepSharing sharing;
    for (const Worker& other : uses_.pool.workers())
        if (other.device == worker.device) sharing.others += static_cast<std::int64_t>(other.jobs.size());
    --sharing.others;  // the trial
    sharing.fused = static_cast<std::int64_t>(worker.jobs.size()) - 1;
    const TrialRecord& record = uses_.context.trial(trial);
    auto forecast =
        uses_.forecasts.of(*work, model_kind(uses_.context.parts.study, record.params), worker.device, sharing);
    if (!forecast) return {};
    if (!record.curve.empty()) {
        forecast->done = record.curve.back().step;
        forecast->trained = record.curve.back().seconds.value_or(0);
    }
    forecast->why = uses_.requirements.of(trial).why;
    return *forecast;
}

void Attempts::started(WorkerIndex index, const from_worker::Started& message) {
    Job* job = uses_.pool.find(index, message.id);
    if (!job || job->phase != Job::Phase::running) return;
    job->started = true;
    job->from_step = message.from_step;
    job->checkpoints = job->checkpoints || message.checkpoints || uses_.pool.at(index).checkpoints;
    if (job->checkpoints && job->id.attempt > 1) tell_resumption(job->id.trial, message.from_step);
    if (message.data.empty()) return;
    const std::int64_t trial = message.id.trial;
    const std::int64_t other =
        uses_.context.parts.ledger.saw_data(trial, uses_.requirements.configuration(trial), message.data);
    if (other == 0 || std::exchange(data_differ_, true)) return;
    uses_.context.say(Notice::Level::warning, trial,
                      "the data changed since trial " + std::to_string(other) +
                          ", so results are not comparable; restore it, or use "
                          "`hpo run --fresh`, which keeps the present study aside");
}

/// Tells whether an attempt that may resume from a checkpoint does so.
void Attempts::tell_resumption(std::int64_t trial, std::int64_t from) const {
    const Study& study = uses_.context.parts.study;
    const TrialRecord& record = uses_.context.trial(trial);
    const std::int64_t stored = record.steps();
    // A checkpoint may lie between two reports of a script that does not report each step.
    const std::int64_t stride = stride_of(uses_.context.parts.ledger.record().trials, record);
    if (from >= stored + std::max<std::int64_t>(stride, 1)) {
        const std::string name = step_name(study);
        return uses_.context.say(
            Notice::Level::warning, trial,
            "goes on after " + name + " " + std::to_string(from) + ", and " +
                (stored == 0 ? "none is stored" : "the last stored one is " + std::to_string(stored)) + ": " +
                (from == stored + 1
                     ? name + " " + std::to_string(from) + " is"
                     : name + "s " + std::to_string(stored + 1) + " to " + std::to_string(from) + " are") +
                " missing from its curve (its checkpoint was written before the report, or a loss of power kept the "
                "checkpoint and took the last reports)");
    }
    if (stored == 0 && from == 0) return;
    uses_.context.say(Notice::Level::info, trial,
                      from > 0 ? "resumed after " + steps_text(study, from)
                               : "begins anew, since it found no checkpoint that it could use; its log tells more");
}

void Attempts::reported(WorkerIndex index, const from_worker::Reported& message) {
    EngineContext& context = uses_.context;
    const EngineParts& parts = context.parts;
    const Worker& worker = uses_.pool.at(index);
    const std::int64_t step = message.report.step, steps = parts.study.budget.epochs;
    Job* job = uses_.pool.find(index, message.id);
    if (!job || job->phase != Job::Phase::running || worker.state != Worker::State::ready)
        return not_used(job, message.id.trial, "attempt " + std::to_string(message.id.attempt) + " had ended");
    if (step < 1 || step > steps || step <= job->last_step) {
        not_used(job, message.id.trial,
                 "step " + std::to_string(step) +
                     (step < 1 ? ": steps count from 1"
                      : step == job->last_step
                          ? " was reported again: report all metrics of a step together"
                          : " came after step " + std::to_string(job->last_step) + " of " + std::to_string(steps)));
        return context.executor.send(index, to_worker::Decision{job->id, step, to_worker::Action::go_on});
    }
    job->last_step = step;
    set_aside_.erase(job->id.trial);
    uses_.ends.reported(step);
    uses_.throughput.reported(index, job->id.trial, step);
    const Verdict verdict = parts.ledger.report(job->id.trial, message.report, worker.checkpoints || job->checkpoints);
    const TrialRecord& trial = context.trial(job->id.trial);
    // Every step's warning is in its report.
    if (!message.report.warning.empty() && is_news(*job, message.report.warning))
        context.say(Notice::Level::warning, trial.number, message.report.warning);
    if (!worker.shared)
        record_usage(*job, {message.report.peak_device_bytes.value_or(0), message.report.peak_bytes.value_or(0), 0});
    if (trial.state != TrialState::running) {
        job->phase = Job::Phase::ending;
        uses_.throughput.ending(index, trial.number);
    }
    if (trial.state == TrialState::failed) {
        uses_.requirements.set_lasted(trial.number, context.now() - job->begun);
        uses_.ends.failed_as_judged(trial.number);
    }
    job->complete = trial.state == TrialState::complete;
    context.executor.send(index, to_worker::Decision{job->id, step, verdict.action});
}

void Attempts::logged(WorkerIndex index, const from_worker::Log& message) {
    if (Job* job = uses_.pool.find(index, message.id); job && ++job->logged <= most_log_lines)
        uses_.context.say(job->started ? Notice::Level::info : Notice::Level::warning, message.id.trial, message.text);
}

void Attempts::finished(WorkerIndex index, const from_worker::Finished& message) {
    EngineContext& context = uses_.context;
    const Worker& worker = uses_.pool.at(index);
    const Job* found = uses_.pool.find(index, message.id);
    if (!found || found->phase == Job::Phase::reserved || worker.state != Worker::State::ready) return;
    Job job = *found;
    const std::int64_t trial = job.id.trial;
    const bool shared = worker.shared;
    if (!shared) job.held.used.host_bytes = std::max(job.held.used.host_bytes, message.peak_bytes);
    if (Job* heir = uses_.pool.let_go(index, job.id)) {
        const Reservation& held = heir->held.reservation;
        uses_.pool.resize(*heir, at_least(held.footprint, uses_.requirements.of(heir->id.trial).footprint), held.alone);
    }
    sum_up(job);
    uses_.pool.set_ailing(index, message.outcome == Outcome::failed || message.outcome == Outcome::out_of_memory);
    if (!gives_value(trial, message)) {
        // The trial's value once more is not kept.
        Metrics closing = message.values;
        const std::string& metric = context.parts.study.objective.metric;
        if (const auto again = closing.find(metric);
            again != closing.end() && context.trial(trial).value == again->second)
            closing.erase(metric);
        if (!closing.empty()) context.parts.ledger.closing(trial, std::move(closing));
    }
    for (const int device : devices_of(job.held.reservation))
        if (!is_host(device)) uses_.health.worked(device);
    if (worker.once || message.last) uses_.pool.retire(index);
    if (job.phase != Job::Phase::ending) return ended_by_worker(job, message, shared, !is_host(worker.device));
    if (message.outcome == Outcome::complete) remark(trial, message.message);
    uses_.ends.announce(trial);
}

/// Returns true if the end of the trial tells its value, which no step has reported.
bool Attempts::gives_value(std::int64_t trial, const from_worker::Finished& message) const {
    const TrialRecord& record = uses_.context.trial(trial);
    return message.outcome == Outcome::complete && record.state == TrialState::running && !record.value &&
           message.values.contains(uses_.context.parts.study.objective.metric);
}

void Attempts::ended_by_worker(const Job& job, const from_worker::Finished& message, bool shared, bool on_device) {
    const std::int64_t trial = job.id.trial;
    switch (message.outcome) {
        case Outcome::complete:
            if (gives_value(trial, message)) {
                uses_.ends.complete(trial, message.values);
                return remark(trial, message.message);
            }
            if (const auto missing = uses_.ends.missing_steps(job); !missing.empty())
                return uses_.ends.charge(job.id, missing);
            if (!uses_.context.trial(trial).value) return uses_.ends.ended_without_value(trial, message.message);
            uses_.ends.finish(trial, TrialState::complete, "", message.message);
            return remark(trial, message.message);
        case Outcome::stopped:  // a reason says that the script gave the trial up
            if (message.message.empty() || !uses_.context.trial(trial).value) break;
            return uses_.ends.finish(trial, TrialState::stopped, by_script, message.message);
        case Outcome::diverged:
            return uses_.ends.finish(trial, TrialState::diverged, "", message.message);
        case Outcome::out_of_memory: {
            if (shared) return uses_.memory.ran_out_among_others(trial, message.message);
            const auto memory = find_out_of_memory(message.message, on_device);
            return uses_.memory.ran_out(job, message.message, memory ? memory->device : on_device);
        }
        case Outcome::lost:
            return without_checkpoint(job.id,
                                      message.message.empty() ? "its checkpoint cannot be used" : message.message);
        default:
            break;
    }
    // The text of the exception counts, not the lines of code that raised it.
    const auto exception = std::string_view(message.message).substr(0, message.message.find("\n  File \""));
    if (const auto memory = find_out_of_memory(exception, on_device))
        return uses_.memory.ran_out(job, memory->line, memory->device);
    uses_.ends.fail(
        trial, message.message.empty() ? "the worker said " + std::string(to_text(message.outcome)) : message.message);
}

/// Queues a trial again whose checkpoint the worker has put aside. The trial has not caused a loss of power: it is
/// charged only where another attempt without a report between finds one again.
void Attempts::without_checkpoint(AttemptId id, const std::string& reason) {
    if (!set_aside_.insert(id.trial).second) return uses_.ends.charge(id, reason);
    uses_.context.say(Notice::Level::warning, id.trial, reason);
    uses_.ends.requeue_without_blame(id.trial, reason);
}

void Attempts::measure() {
    const EngineParts& parts = uses_.context.parts;
    if (!parts.usage) return;
    std::vector<WorkerIndex> measured;
    const auto& workers = uses_.pool.workers();
    for (std::size_t index = 0; index < workers.size(); ++index)
        if (workers[index].greeted && !workers[index].jobs.empty()) measured.push_back(static_cast<WorkerIndex>(index));
    if (measured.empty()) return;
    std::vector<Footprint> used = parts.usage(measured);
    for (std::size_t i = 0; i < measured.size() && i < used.size(); ++i) {
        const Worker& worker = uses_.pool.at(measured[i]);
        if (worker.shared) continue;
        Job& job = *uses_.pool.find(measured[i], worker.jobs.front().id);
        // Readings from before the trial began show the memory of the worker's last trial.
        if (uses_.context.now() - job.begun < read_anew_after) {
            used[i].device_bytes = 0;
            if (worker.warm) used[i].host_bytes = 0;
        }
        record_usage(job, used[i]);
    }
}

void Attempts::record_usage(Job& job, const Footprint& used) {
    job.held.used = at_least(job.held.used, used);
    const Reservation now = uses_.requirements.record_usage(job, job.held.used);
    uses_.pool.resize(job, now.footprint, now.alone);
    if (job.last_step > 0) keep_peak(job);
}

void Attempts::keep_peak(const Job& job) {
    uses_.requirements.keep_peak(job, [this](std::int64_t trial) { return uses_.placement.holds(trial); });
}

void Attempts::sum_up(const Job& job) {
    const auto warn = [&](const std::string& text) { uses_.context.say(Notice::Level::warning, job.id.trial, text); };
    if (job.unused > most_unused_warnings) warn(counted(job.unused, "report") + " in all were not used");
    if (job.logged > most_log_lines)
        warn("of " + std::to_string(job.logged) + " lines for the log, " + std::to_string(most_log_lines) +
             " were kept");
    keep_peak(job);
    if (job.last_step > 0 && !job.borrowed) uses_.forecasts.ended(uses_.context.trial(job.id.trial));
    if (job.phase == Job::Phase::running) uses_.requirements.set_lasted(job.id.trial, uses_.context.now() - job.begun);
}

/// Returns true for the first warning of an attempt. All trials of an unchanged script cause the same ones, with other
/// numbers in the lines that these quote: each is news once.
bool Attempts::is_news(Job& job, const std::string& warning) {
    const auto* script = std::get_if<ScriptWorker>(&uses_.context.parts.study.worker);
    if (script == nullptr || !script->metrics) return !std::exchange(job.warned, true);
    return told_.insert(without_numbers(warning)).second;
}

/// Keeps the remarks for the user about a complete trial's end: its program failed after the last step, or had more to
/// report, so that its reports may not be the steps that the study takes them for.
void Attempts::remark(std::int64_t trial, const std::string& text) {
    const TrialRecord& record = uses_.context.trial(trial);
    if (text.empty() || record.state != TrialState::complete) return;
    if (record.reason.empty()) uses_.context.parts.ledger.amend(trial, text);
    if (++remarks_ == 1) uses_.context.say(Notice::Level::warning, trial, text);
}

std::string Attempts::about_remarks() const {
    if (remarks_ == 0) return {};
    return counted(remarks_, "complete trial has", "complete trials have") +
           " a remark on how it ended (hpo ls shows it as the reason)";
}

/// Warns of a report that cannot be used, because it makes no sense or comes too late. After `most_unused_warnings` of
/// an attempt its end gives their number. Reports under way when the session ends are not mentioned: their trials
/// resume in the next session.
void Attempts::not_used(Job* job, std::int64_t trial, const std::string& why) {
    if (uses_.context.closing()) return;
    if (!job || ++job->unused <= most_unused_warnings)
        uses_.context.say(Notice::Level::warning, trial, "a report was not used: " + why);
}

}  // namespace hpo
