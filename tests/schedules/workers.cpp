#include "tests/schedules/workers.hpp"

#include <cmath>
#include <csignal>
#include <limits>
#include <stdexcept>

#include "hpo/random.hpp"

namespace hpo::schedules {

double loss_of(std::int64_t trial, std::int64_t step) {
    const auto n = static_cast<std::uint64_t>(trial);
    return 0.1 + draw_unit(1, Purpose::synthetic, n, 0) +
           draw_unit(1, Purpose::synthetic, n, static_cast<std::uint64_t>(step + 2)) / static_cast<double>(step + 2);
}

Workers::Workers(Dice& dice, const Clock& clock, Habits habits, Abilities abilities,
                 std::map<std::int64_t, std::int64_t>& checkpoints, std::set<std::int64_t>& harmed, Story story)
    : dice_(dice),
      clock_(clock),
      habits_(habits),
      abilities_(std::move(abilities)),
      checkpoints_(checkpoints),
      harmed_(harmed),
      story_(std::move(story)) {}

void Workers::launch(WorkerIndex index, const LaunchSpec&) {
    if (workers_.contains(index)) throw std::logic_error("a second worker has the index " + std::to_string(index));
    if (story_) story_("launch worker " + std::to_string(index));
    Worker& worker = workers_[index];
    worker.on_device = !next_devices.empty() && next_devices.front() >= 0;
    worker.stubborn = dice_.chance(habits_.stubborn);
    if (dice_.chance(habits_.launch_fails)) {
        worker.gone = true;
        worker.out.emplace_back(execution::LaunchFailed{2, "fork: no such program"});
    } else if (dice_.chance(habits_.exits_before_hello)) {
        exit(worker, worker.on_device && dice_.chance(0.5) ? device_failed_status : 1, 0, "no module");
    } else {
        worker.says_hello = !dice_.chance(habits_.says_no_hello);
    }
}

void Workers::send(WorkerIndex index, std::span<const OrchestratorMessage> messages) {
    for (const OrchestratorMessage& message : messages) {
        if (on_send) on_send(index, message);
        const auto found = workers_.find(index);
        if (found == workers_.end()) continue;
        if (found->second.gone) {
            harm(message);
            continue;
        }
        if (const auto* decision = std::get_if<to_worker::Decision>(&message)) {
            for (Attempt& attempt : found->second.attempts) {
                if (attempt.run.id != decision->id) continue;
                if (const auto owed = std::find(attempt.owed.begin(), attempt.owed.end(), decision->step);
                    owed != attempt.owed.end())
                    attempt.owed.erase(owed);
                attempt.over = attempt.over || decision->action != to_worker::Action::go_on;
            }
        }
        found->second.in.push_back(message);
    }
}

void Workers::terminate(WorkerIndex index, double grace) {
    const auto found = workers_.find(index);
    if (found == workers_.end()) return;
    if (story_) story_("terminate worker " + std::to_string(index));
    Worker& worker = found->second;
    worker.asked_to_leave = true;
    if (!excuses()) harm(worker);
    const Seconds at = clock_.now() + Seconds(grace);
    if (!worker.dies_at || *worker.dies_at > at) worker.dies_at = at;
}

void Workers::kill(WorkerIndex index) {
    const auto found = workers_.find(index);
    if (found == workers_.end()) return;
    found->second.asked_to_leave = found->second.killed = true;
    found->second.dies_at = clock_.now();
}

bool Workers::can_act(const Worker& worker) const {
    if (worker.gone) return false;
    if (worker.dies_at && (!worker.stubborn || clock_.now() >= *worker.dies_at)) return true;
    if (worker.hangs || (!worker.hello && !worker.says_hello)) return false;
    if (!worker.hello || !worker.in.empty()) return true;
    for (const Attempt& attempt : worker.attempts)
        if (!attempt.waits) return true;
    return worker.shut_down && worker.attempts.empty();
}

bool Workers::act() {
    std::vector<WorkerIndex> able;
    for (const auto& [index, worker] : workers_)
        if (can_act(worker)) able.push_back(index);
    if (able.empty()) return false;
    act(workers_.at(dice_.pick(able)));
    return true;
}

void Workers::act(Worker& worker) {
    const bool dies = worker.dies_at && (!worker.stubborn || clock_.now() >= *worker.dies_at);
    // A worker that is asked to leave may do a little more before it does.
    if (dies && (worker.killed || worker.stubborn || worker.hangs || !worker.hello || dice_.chance(0.6)))
        return exit(worker, 0, worker.killed || clock_.now() >= *worker.dies_at ? SIGKILL : SIGTERM);
    if (!worker.hello) {
        worker.hello = true;
        from_worker::Hello hello;
        hello.pid = ++pids_;
        hello.slots = abilities_.slots;
        hello.backend = "cpu";
        if (abilities_.plans) hello.capabilities.emplace_back("plan");
        if (abilities_.checkpoints) hello.capabilities.emplace_back("checkpoint");
        if (abilities_.once) hello.capabilities.emplace_back("once");
        worker.out.emplace_back(execution::Ready{std::move(hello)});
        return;
    }
    std::vector<std::size_t> training;
    for (std::size_t i = 0; i < worker.attempts.size(); ++i)
        if (!worker.attempts[i].waits) training.push_back(i);
    if (!worker.in.empty() && (training.empty() || dice_.chance(0.6))) {
        const OrchestratorMessage message = worker.in.front();
        worker.in.pop_front();
        take(worker, message);
    } else if (!training.empty()) {
        train(worker, dice_.pick(training));
    } else if (worker.shut_down) {
        exit(worker, 0, 0);
    }
}

void Workers::take(Worker& worker, const OrchestratorMessage& message) {
    const auto attempt_of = [&](AttemptId id) {
        for (std::size_t i = 0; i < worker.attempts.size(); ++i)
            if (worker.attempts[i].run.id == id) return i;
        return worker.attempts.size();
    };
    if (const auto* plan = std::get_if<to_worker::Plan>(&message)) {
        from_worker::PlanAnswer answer;
        answer.id = plan->id;
        if (dice_.chance(habits_.plan_fails)) {
            answer.error = "hidden: too large";
            harmed_.insert(plan->id);
        }
        answer.fusion_key = abilities_.fusion_keys[static_cast<std::size_t>(plan->id) % abilities_.fusion_keys.size()];
        // Trials that can be fused need the same memory.
        const auto n = answer.fusion_key.empty() ? static_cast<std::uint64_t>(plan->id)
                                                 : static_cast<std::uint64_t>(answer.fusion_key.front());
        const auto mebibytes = [&](std::uint64_t draw, double most) {
            return static_cast<std::int64_t>(1 + most * draw_unit(2, Purpose::synthetic, n, draw)) << 20;
        };
        answer.footprint = {worker.on_device ? mebibytes(0, 4000) : 0, mebibytes(1, 300), 1};
        if (!answer.fusion_key.empty()) answer.colocated = {answer.footprint.device_bytes / 2, 1 << 20, 0};
        worker.out.emplace_back(execution::Received{std::move(answer)});
    } else if (const auto* run = std::get_if<to_worker::Run>(&message)) {
        Attempt attempt{.run = *run};
        if (run->resume && abilities_.checkpoints)
            if (const auto found = checkpoints_.find(run->id.trial); found != checkpoints_.end())
                attempt.step = found->second;
        worker.attempts.push_back(std::move(attempt));
    } else if (const auto* decision = std::get_if<to_worker::Decision>(&message)) {
        const std::size_t i = attempt_of(decision->id);
        if (i == worker.attempts.size() || !worker.attempts[i].waits || worker.attempts[i].step != decision->step)
            return;
        Attempt& attempt = worker.attempts[i];
        if (abilities_.checkpoints) checkpoints_[decision->id.trial] = decision->step;
        attempt.waits = false;
        if (decision->action == to_worker::Action::stop) return finish(worker, i, Outcome::stopped);
        if (decision->action == to_worker::Action::pause) return finish(worker, i, Outcome::paused);
        if (attempt.step == attempt.run.steps) return finish(worker, i, Outcome::complete);
    } else if (const auto* stop = std::get_if<to_worker::Stop>(&message)) {
        if (const std::size_t i = attempt_of(stop->id); i != worker.attempts.size())
            finish(worker, i, Outcome::stopped);
    } else if (std::holds_alternative<to_worker::Shutdown>(message)) {
        worker.shut_down = true;
    }
    if (worker.shut_down && worker.attempts.empty() && worker.in.empty()) exit(worker, 0, 0);
}

/// The attempt takes its next step, or meets a misfortune.
void Workers::train(Worker& worker, std::size_t i) {
    Attempt& attempt = worker.attempts[i];
    const AttemptId id = attempt.run.id;
    if (!attempt.started) {
        attempt.started = true;
        worker.out.emplace_back(execution::Received{from_worker::Started{id, attempt.step, {}}});
        return;
    }
    if (dice_.chance(0.1)) {
        worker.out.emplace_back(execution::Received{from_worker::Alive{id, "training"}});
        return;
    }
    if (attempt.step >= attempt.run.steps) return finish(worker, i, Outcome::complete);
    if (dice_.chance(habits_.crashes)) {
        const bool below_memory = dice_.chance(0.3);
        harm(worker);
        exit(worker, 0, below_memory ? SIGKILL : SIGSEGV);
        if (below_memory) std::get<execution::Exited>(worker.out.back()).out_of_memory_kill = true;
        return;
    }
    if (worker.on_device && dice_.chance(habits_.device_fails)) {
        harm(worker);
        return exit(worker, device_failed_status, 0, "CUDA error 719");
    }
    if (dice_.chance(habits_.hangs)) {
        worker.hangs = true;
        return harm(worker);
    }
    if (dice_.chance(habits_.runs_out_of_memory)) {
        harmed_.insert(id.trial);
        return finish(worker, i, Outcome::out_of_memory, "MemoryError");
    }
    if (dice_.chance(habits_.fails)) {
        harmed_.insert(id.trial);
        return finish(worker, i, Outcome::failed, "ValueError: x");
    }
    if (attempt.step > 0 && dice_.chance(habits_.ends_early)) {
        if (abilities_.once && dice_.chance(0.5)) return exit(worker, 0, 0);
        return finish(worker, i, Outcome::complete);
    }
    if (dice_.chance(habits_.garbles)) {  // a step out of order, or one of another attempt
        const AttemptId other = dice_.chance(0.5) ? id : AttemptId{id.trial, id.attempt - 1};
        const std::int64_t step =
            other == id ? dice_.between(-1, attempt.reported ? attempt.step : 0) : attempt.step + 1;
        worker.out.emplace_back(execution::Received{
            from_worker::Reported{other, {.step = step, .metrics = {{"loss", loss_of(id.trial, step)}}}}});
        if (dice_.chance(0.2)) worker.out.emplace_back(execution::MalformedLines{1, "not JSON"});
        return;
    }
    ++attempt.step;
    attempt.reported = true;
    Report report{.step = attempt.step, .metrics = {{"loss", loss_of(id.trial, attempt.step)}}};
    report.seconds = 0.5 * static_cast<double>(attempt.step);
    if (dice_.chance(habits_.diverges)) {
        harmed_.insert(id.trial);
        report.metrics["loss"] = std::numeric_limits<double>::quiet_NaN();
    }
    attempt.waits = true;
    worker.out.emplace_back(execution::Received{from_worker::Reported{id, std::move(report)}});
}

void Workers::finish(Worker& worker, std::size_t i, Outcome outcome, const std::string& message) {
    from_worker::Finished finished;
    finished.id = worker.attempts[i].run.id;
    finished.outcome = outcome;
    finished.message = message;
    worker.attempts.erase(worker.attempts.begin() + static_cast<std::ptrdiff_t>(i));
    worker.out.emplace_back(execution::Received{std::move(finished)});
    if (abilities_.once || dice_.chance(habits_.quits)) {
        harm(worker);
        exit(worker, 0, 0);
    }
}

void Workers::exit(Worker& worker, int code, int signal, const std::string& tail) {
    if (worker.gone) return;
    if (dice_.chance(habits_.loses_output)) {
        harm(worker);
        worker.out.clear();
    }
    worker.gone = true;
    worker.in.clear();
    worker.attempts.clear();
    worker.out.emplace_back(execution::Exited{code, signal, false, tail, 0, {}});
}

/// Marks the trial of a message that the worker will not carry out.
void Workers::harm(const OrchestratorMessage& message) {
    if (const auto* run = std::get_if<to_worker::Run>(&message)) harmed_.insert(run->id.trial);
    if (const auto* plan = std::get_if<to_worker::Plan>(&message)) harmed_.insert(plan->id);
}

/// The worker's trials may be charged.
void Workers::harm(const Worker& worker) {
    for (const Attempt& attempt : worker.attempts) harmed_.insert(attempt.run.id.trial);
    for (const OrchestratorMessage& message : worker.in) harm(message);
    for (const execution::Event& event : worker.out)
        if (const auto* received = std::get_if<execution::Received>(&event)) {
            if (const auto* report = std::get_if<from_worker::Reported>(&received->message))
                harmed_.insert(report->id.trial);
            if (const auto* finished = std::get_if<from_worker::Finished>(&received->message))
                harmed_.insert(finished->id.trial);
            if (const auto* answer = std::get_if<from_worker::PlanAnswer>(&received->message))
                harmed_.insert(answer->id);
        }
}

std::optional<std::pair<WorkerIndex, execution::Event>> Workers::deliver() {
    std::vector<WorkerIndex> telling;
    for (const auto& [index, worker] : workers_)
        if (!worker.out.empty()) telling.push_back(index);
    if (telling.empty()) return std::nullopt;
    const WorkerIndex index = dice_.pick(telling);
    Worker& worker = workers_.at(index);
    execution::Event event = std::move(worker.out.front());
    worker.out.pop_front();
    if (const auto* received = std::get_if<execution::Received>(&event))
        if (const auto* report = std::get_if<from_worker::Reported>(&received->message))
            for (Attempt& attempt : worker.attempts)
                if (attempt.run.id == report->id) attempt.owed.push_back(report->report.step);
    if (worker.gone && worker.out.empty()) workers_.erase(index);
    return std::pair(index, std::move(event));
}

bool Workers::told_to_stop(const Worker& worker, AttemptId id) {
    return std::any_of(worker.in.begin(), worker.in.end(), [&](const OrchestratorMessage& message) {
        const auto* stop = std::get_if<to_worker::Stop>(&message);
        return stop && stop->id == id;
    });
}

std::optional<AttemptId> Workers::unanswered() const {
    for (const auto& [index, worker] : workers_) {
        if (worker.gone || worker.asked_to_leave) continue;
        for (const Attempt& attempt : worker.attempts)
            if (!attempt.owed.empty() && !attempt.over && !told_to_stop(worker, attempt.run.id)) return attempt.run.id;
    }
    return std::nullopt;
}

bool Workers::trains(std::int64_t trial) const {
    for (const auto& [index, worker] : workers_) {
        if (worker.gone || worker.asked_to_leave) continue;
        for (const Attempt& attempt : worker.attempts)
            if (attempt.run.id.trial == trial && !told_to_stop(worker, attempt.run.id)) return true;
        for (const OrchestratorMessage& message : worker.in) {
            const auto* run = std::get_if<to_worker::Run>(&message);
            if (run && run->id.trial == trial && !told_to_stop(worker, run->id)) return true;
        }
    }
    return false;
}

}  // namespace hpo::schedules
