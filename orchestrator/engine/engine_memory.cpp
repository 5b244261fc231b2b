// Memory as it turns out: what trials were seen to take, trials that ran out of it.
#include <algorithm>

#include "orchestrator/engine/engine.hpp"
#include "orchestrator/engine/text.hpp"
#include "orchestrator/scheduling/out_of_memory.hpp"

namespace hpo {

namespace {

constexpr double read_anew_after = 2;   // seconds in which what others use of a device is read anew
constexpr double worth_storing = 1.02;  // times the peak that is stored already

std::int64_t whole(const Params& params, const char* name, std::int64_t otherwise) {
    const auto found = params.find(name);
    return found == params.end() ? otherwise : static_cast<std::int64_t>(number_or(found->second, double(otherwise)));
}

bool known(const Footprint& used) { return used.device_bytes > 0 || used.host_bytes > 0; }

}  // namespace

/// What the empty machine gives one trial, devices that are set aside included: they may come back.
Footprint Engine::capacity_of(const Machine& machine) {
    Footprint capacity{0, machine.memory - machine.memory_reserve, machine.cores};
    for (const Accelerator& device : machine.accelerators)
        capacity.device_bytes = std::max(capacity.device_bytes, device.memory - device.reserve);
    return capacity;
}

/// What other programs use of that; on `device`, if it is given.
Footprint Engine::others_of(const Machine& machine, int device) {
    Footprint others{0, machine.memory_others, 0};
    if (device != host_only) {
        others.device_bytes = machine.accelerators.at(static_cast<std::size_t>(device)).others;
        return others;
    }
    const std::int64_t capacity = capacity_of(machine).device_bytes;
    for (const Accelerator& largest : machine.accelerators)
        if (largest.memory - largest.reserve == capacity) others.device_bytes = largest.others;
    return others;
}

/// What earlier sessions learned: peaks, and what an attempt that ran out of memory was to be followed by.
void Engine::recall() {
    for (const TrialRecord& trial : parts_.ledger.record().trials)
        if (known(trial.peak)) model_.measured(configuration(trial.number), trial.peak);
    for (const std::int64_t number : parts_.ledger.unfinished()) {
        const TrialRecord& trial = parts_.ledger.record().trial(number);
        if (trial.memory_deaths == 0) continue;
        Requirements& requirements = requirements_[number];
        requirements.own_worker = true;
        requirements.micro_batches = trial.allocation.micro_batches;
        requirements.minimum = trial.allocation.footprint;
        requirements.must_run_alone = trial.allocation.alone;
        std::string failed;  // then it is tried once more as it was: this session may have more to give
        if (trial.requeued == Outcome::out_of_memory)
            learn_from(number, trial.allocation, trial.peak, parts_.on_device, others_of(read_machine()), failed);
    }
}

/// About once a second: what the workers' process trees hold.
void Engine::measure() {
    if (!parts_.usage) return;
    std::vector<std::int64_t> pids;
    std::vector<Worker*> measured;
    for (Worker& worker : workers_) {
        if (!worker.pid || worker.jobs.empty()) continue;
        pids.push_back(worker.pid);
        measured.push_back(&worker);
    }
    if (pids.empty()) return;
    std::vector<Footprint> used = parts_.usage(pids);
    for (std::size_t i = 0; i < measured.size() && i < used.size(); ++i) {
        if (measured[i]->shared) continue;
        Job& job = measured[i]->jobs.front();
        // Readings from before it began show what the worker's last trial held.
        if ((parts_.clock.now() - job.begun).count() < read_anew_after) {
            used[i].device_bytes = 0;
            if (measured[i]->warm) used[i].host_bytes = 0;
        }
        record_usage(job, used[i]);
    }
}

/// A reservation gives way to what the trial takes as soon as that is known: after its first step.
void Engine::record_usage(Job& job, const Footprint& used) {
    job.held.used = at_least(job.held.used, used);
    if (job.last_step == 0 || !known(job.held.used)) return;
    Requirements& requirements = requirements_[job.id.trial];
    const Reservation before = job.held.reservation;
    Footprint& reserved = job.held.reservation.footprint;
    const Footprint with_error = with_measurement_error(job.held.used);
    if (asks_) {
        reserved = at_least(reserved, job.held.used);  // exact, unless it turns out not to be
    } else {
        if (job.held.used.host_bytes > 0) reserved.host_bytes = with_error.host_bytes;
        if (job.held.used.device_bytes > 0) reserved.device_bytes = with_error.device_bytes;
        reserved = at_least(reserved, requirements.minimum);
        job.held.reservation.alone = requirements.must_run_alone;
    }
    requirements.footprint = reserved;
    requirements.alone = job.held.reservation.alone;
    placement_due_ = placement_due_ || before.alone != job.held.reservation.alone ||
                     before.footprint.host_bytes > reserved.host_bytes ||
                     before.footprint.device_bytes > reserved.device_bytes;
    keep_peak(job);
}

/// Stored when it is news, so that the next session knows it and other trials' needs are learned from it.
void Engine::keep_peak(const Job& job) {
    const Footprint& used = job.held.used;
    const Footprint& stored = parts_.ledger.record().trial(job.id.trial).peak;
    const auto news = [](std::int64_t now, std::int64_t before) {
        return double(now) > worth_storing * double(before);
    };
    if (job.phase == Job::Phase::reserved || !known(used)) return;
    if (!news(used.host_bytes, stored.host_bytes) && !news(used.device_bytes, stored.device_bytes)) return;
    parts_.ledger.measured(job.id.trial, used);
    model_.measured(configuration(job.id.trial), used);
    // What waits is predicted anew, by what is known now.
    if (!asks_)
        for (auto& [trial, requirements] : requirements_)
            if (!assigned(trial)) requirements.known = false;
}

/// What the trial's next attempt is to be given after one that ran out of memory, as text; empty: nothing is left to
/// try, and `failed` says why.
std::string Engine::learn_from(std::int64_t trial, const Allocation& given, const Footprint& used, bool device_memory,
                               const Footprint& others, std::string& failed) {
    const Params params = configuration(trial);
    const Machine machine = read_machine();
    MemoryDeath death;
    death.reserved = given.footprint;
    death.used = used;
    death.alone = given.alone;
    death.on_device = device_memory;
    const TrialRecord& record = parts_.ledger.record().trial(trial);
    death.deaths = record.memory_deaths + (record.state == TrialState::running ? 1 : 0);  // else it is counted already
    death.micro_batches = whole(params, "accumulation", 1);
    if (shrinks_) death.more_micro_batches = next_accumulation(whole(params, "batch_size", 1), death.micro_batches);
    death.capacity = capacity_of(machine);
    death.others = others;
    const bool unified = std::any_of(machine.accelerators.begin(), machine.accelerators.end(),
                                     [](const Accelerator& device) { return device.unified; });
    if (unified) {  // one pool: what the one kind has reserved the other has not
        death.capacity.device_bytes -= given.footprint.host_bytes;
        death.capacity.host_bytes -= given.footprint.device_bytes;
    }

    const Result<NextTry> next = after_out_of_memory(death);
    if (!next) return failed = next.error().message, "";
    Requirements& requirements = requirements_[trial];
    requirements.minimum = next->reservation;
    requirements.must_run_alone = next->alone;
    requirements.known = false;  // asked or predicted again, with the lesson
    if (next->micro_batches > death.micro_batches) requirements.micro_batches = next->micro_batches;
    return next->how;
}

/// Not the trial's fault: queued again. What the host has is read at once, what a device has is known in a moment: a
/// verdict by readings from before its end would blame the trial for what another program has just taken.
void Engine::out_of_memory(const Job& job, const std::string& message, bool device_memory) {
    parts_.ledger.requeue(job.id.trial, Outcome::out_of_memory, false, message);
    if (device_memory)
        pending_diagnoses_.push_back({.job = job,
                                      .until = parts_.clock.now() + Seconds(read_anew_after),
                                      .reason = message,
                                      .out_of_memory = true});
    else
        go_on_after_out_of_memory(job, message, false, others_of(read_machine()));
}

/// In a worker with others: next in one of its own, where what it needs is known to the byte.
void Engine::out_of_shared_memory(std::int64_t trial, const std::string& message) {
    const std::string why = message.empty() ? "out of memory" : message;
    parts_.ledger.requeue(trial, Outcome::out_of_memory, false, why);
    requirements_[trial].own_worker = true;
    say(Notice::Level::warning, trial, why + "; queued again, in a worker of its own");
}

/// Never as it was; with the numbers it fails only when nothing is left to try.
void Engine::go_on_after_out_of_memory(const Job& job, const std::string& message, bool device_memory,
                                       const Footprint& others) {
    const std::int64_t trial = job.id.trial;
    const Reservation& reserved = job.held.reservation;
    std::string failed;
    const std::string next =
        learn_from(trial, {reserved.footprint, "", reserved.alone, requirements_[trial].micro_batches, {}},
                   job.held.used, device_memory, others, failed);
    if (next.empty()) {
        parts_.ledger.finish(trial, TrialState::failed, "", message + "; " + failed);
        return trial_failed(trial, "out of memory");
    }
    say(Notice::Level::warning, trial, message + "; queued again " + next);
}

/// A trial that no empty machine has room for is trained in smaller micro-batches of the same batch. False: it cannot.
bool Engine::shrink(std::int64_t trial, const std::string& why) {
    if (!shrinks_) return false;
    const Params params = configuration(trial);
    const auto more = next_accumulation(whole(params, "batch_size", 1), whole(params, "accumulation", 1));
    if (!more) return false;
    Requirements& requirements = requirements_[trial];
    if (requirements.shrunk.empty()) requirements.shrunk = why;
    requirements.micro_batches = *more;
    requirements.minimum = {0, 0, 0};
    requirements.known = false;
    return true;
}

}  // namespace hpo
