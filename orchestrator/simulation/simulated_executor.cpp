#include "orchestrator/simulation/simulated_executor.hpp"

#include <algorithm>

namespace hpo {

// ---- Processors

SharedProcessor::SharedProcessor(double speed, std::vector<double> throughput)
    : speed_(speed), throughput_(std::move(throughput)) {}

SharedProcessor::SharedProcessor(double speed, double cores) : speed_(speed), cores_(cores) {}

double SharedProcessor::rate() const {
    const auto count = due_.size();
    if (count == 0) return 0;
    const auto trials = static_cast<double>(count);
    if (throughput_.empty()) return speed_ * std::min(1.0, cores_ / trials);
    return speed_ * throughput_[std::min(count, throughput_.size()) - 1] / trials;
}

void SharedProcessor::advance(double now) {
    const double passed = now - at_;
    progress_ += passed * rate();
    const auto trials = static_cast<double>(due_.size());
    busy_ += passed * (throughput_.empty() ? std::min(trials, cores_) : std::min(trials, 1.0));
    at_ = now;
    ++version_;
}

void SharedProcessor::begin(WorkerIndex worker, double seconds, double now) {
    advance(now);
    due_.emplace(progress_ + seconds, worker);
}

void SharedProcessor::drop(WorkerIndex worker, double now) {
    advance(now);
    std::erase_if(due_, [&](const auto& work) { return work.second == worker; });
}

std::optional<double> SharedProcessor::next() const {
    if (due_.empty()) return std::nullopt;
    return at_ + std::max(0.0, due_.begin()->first - progress_) / rate();
}

std::optional<WorkerIndex> SharedProcessor::take_done(double now) {
    constexpr double rounding = 1e-9;  // of sums of progress
    if (due_.empty() || *next() > now + rounding * (1 + now)) return std::nullopt;
    advance(now);
    const WorkerIndex worker = due_.begin()->second;
    due_.erase(due_.begin());
    return worker;
}

double SharedProcessor::busy(double now) const {
    SharedProcessor later = *this;
    later.advance(now);
    return later.busy_;
}

// ---- Workers

SimulatedExecutor::SimulatedExecutor(const SimulatedMachine& machine, const Workload& workload, const Ledger& ledger,
                                     const VirtualClock& clock)
    : machine_(machine),
      workload_(workload),
      ledger_(ledger),
      clock_(clock),
      workers_(static_cast<std::size_t>(machine.workers)) {
    if (machine.machine.accelerators.empty()) processors_.emplace_back(machine.speed.at(0), cores_of(machine.machine));
    for (std::size_t i = 0; i < machine.machine.accelerators.size(); ++i)
        processors_.emplace_back(machine.speed.at(i), machine.throughput.at(i));
}

void SimulatedExecutor::place(WorkerIndex index, std::span<const int> devices) {
    const int device = devices.empty() ? host_only : devices.front();
    workers_.at(static_cast<std::size_t>(index)).processor = is_host(device) ? 0 : static_cast<std::size_t>(device);
}

void SimulatedExecutor::happens(double after, What what, WorkerIndex index, std::int64_t trial) {
    happenings_.push({clock_.now().count() + after, ++order_, what, index,
                      workers_[static_cast<std::size_t>(index)].version, trial});
}

/// The next end of a step on the processor, as of now.
void SimulatedExecutor::watch(std::size_t processor) {
    if (const auto next = processors_[processor].next())
        happenings_.push({std::max(*next, clock_.now().count()), ++order_, What::processor, static_cast<int>(processor),
                          processors_[processor].version(), 0});
}

void SimulatedExecutor::launch(WorkerIndex index, const LaunchSpec&) {
    SimulatedWorker& worker = workers_.at(static_cast<std::size_t>(index));
    worker.lives = true;
    ++worker.version;
    happens(machine_.launch, What::ready, index);
}

void SimulatedExecutor::send(WorkerIndex index, std::span<const OrchestratorMessage> messages) {
    for (const OrchestratorMessage& message : messages) handle(index, message);
}

void SimulatedExecutor::handle(WorkerIndex index, const OrchestratorMessage& message) {
    SimulatedWorker& worker = workers_.at(static_cast<std::size_t>(index));
    if (!worker.lives) return;
    std::visit(Overloaded{
                   [&](const to_worker::Plan& plan) { happens(0, What::planned, index, plan.id); },
                   [&](const to_worker::Run& run) {
                       const TrialRecord& trial = ledger_.record().trial(run.id.trial);
                       Training training{.id = run.id, .cost = workload_.cost(trial), .steps = run.steps};
                       if (run.done && machine_.checkpoints) {
                           training.step = run.done->step;
                           training.seconds = run.done->seconds.value_or(0);
                       }
                       worker.training = std::move(training);
                       most_at_once_ = std::max(most_at_once_, ++at_once_);
                       happens(worker.training->cost.start, What::begins, index);
                   },
                   [&](const to_worker::Decision& decision) {
                       if (!worker.training || worker.training->id != decision.id) return;
                       if (decision.action == to_worker::Action::stop) return end_attempt(index, Outcome::stopped);
                       if (decision.action == to_worker::Action::pause) return end_attempt(index, Outcome::paused);
                       const Training& training = *worker.training;
                       if (training.cost.between > 0 && training.step < training.steps)
                           return happens(training.cost.between, What::begins, index);
                       begin_step(index);
                   },
                   [&](const to_worker::Stop& stop) {
                       if (!worker.training || worker.training->id != stop.id) return;
                       processors_[worker.processor].drop(index, clock_.now().count());
                       watch(worker.processor);
                       end_attempt(index, Outcome::stopped);
                   },
                   [&](const to_worker::Shutdown&) { terminate(index, 0); },
                   [](const to_worker::Cores&) {},
                   [](const to_worker::Welcome&) {},
               },
               message);
}

void SimulatedExecutor::terminate(WorkerIndex index, double) {
    SimulatedWorker& worker = workers_.at(static_cast<std::size_t>(index));
    if (!worker.lives) return;
    worker.lives = false;
    ++worker.version;
    if (worker.training) {
        processors_[worker.processor].drop(index, clock_.now().count());
        watch(worker.processor);
        worker.training.reset();
        --at_once_;
    }
    happens(machine_.exit, What::exited, index);
}

void SimulatedExecutor::kill(WorkerIndex index) { terminate(index, 0); }

void SimulatedExecutor::begin_step(WorkerIndex index) {
    SimulatedWorker& worker = workers_[static_cast<std::size_t>(index)];
    Training& training = *worker.training;
    if (training.cost.fails_after >= 0 && training.step >= training.cost.fails_after)
        return end_attempt(index, Outcome::failed);
    if (training.step >= training.steps) return end_attempt(index, Outcome::complete);
    training.begun = clock_.now().count();
    const TrialRecord& trial = ledger_.record().trial(training.id.trial);
    processors_[worker.processor].begin(index, workload_.step_seconds(trial, training.step + 1), training.begun);
    watch(worker.processor);
}

void SimulatedExecutor::end_attempt(WorkerIndex index, Outcome outcome) {
    SimulatedWorker& worker = workers_[static_cast<std::size_t>(index)];
    worker.training->outcome = outcome;
    happens(worker.training->cost.end, What::finished, index);
}

execution::Event SimulatedExecutor::report(SimulatedWorker& worker) {
    Training& training = *worker.training;
    const double seconds = clock_.now().count() - training.begun;
    training.seconds += seconds;
    ++training.step;
    ++steps_;
    Report report;
    report.step = training.step;
    report.metrics = workload_.metrics(ledger_.record().trial(training.id.trial), training.step);
    report.seconds = training.seconds;
    if (training.cost.iterations > 0 && seconds > 0) {
        report.iteration = training.step * training.cost.iterations;
        report.iterations_per_second = static_cast<double>(training.cost.iterations) / seconds;
    }
    if (!machine_.asks) {
        if (training.cost.footprint.host_bytes > 0) report.peak_bytes = training.cost.footprint.host_bytes;
        if (training.cost.footprint.device_bytes > 0) report.peak_device_bytes = training.cost.footprint.device_bytes;
    }
    return execution::Received{from_worker::Reported{training.id, std::move(report)}};
}

std::optional<double> SimulatedExecutor::next() const {
    if (happenings_.empty()) return std::nullopt;
    return happenings_.top().time;
}

void SimulatedExecutor::deliver(const std::function<void(WorkerIndex, const execution::Event&)>& listener) {
    const double now = clock_.now().count();
    while (!happenings_.empty() && happenings_.top().time <= now) {
        const Happening happening = happenings_.top();
        happenings_.pop();
        if (happening.what == What::processor) {
            const auto at = static_cast<std::size_t>(happening.index);
            if (happening.version != processors_[at].version()) continue;
            if (const auto done = processors_[at].take_done(now))
                listener(*done, report(workers_[static_cast<std::size_t>(*done)]));
            watch(at);
            continue;
        }
        SimulatedWorker& worker = workers_[static_cast<std::size_t>(happening.index)];
        if (happening.version != worker.version) continue;
        switch (happening.what) {
            case What::ready: {
                execution::Ready ready{{.pid = happening.index + 1, .slots = 1}};
                if (machine_.asks) ready.hello.capabilities.emplace_back("plan");
                if (machine_.checkpoints) ready.hello.capabilities.emplace_back("checkpoint");
                listener(happening.index, ready);
                break;
            }
            case What::planned: {
                const TrialCost cost = workload_.cost(ledger_.record().trial(happening.trial));
                listener(happening.index,
                         execution::Received{from_worker::PlanAnswer{
                             .id = happening.trial, .error = {}, .footprint = cost.footprint, .fusion_key = {}}});
                break;
            }
            case What::begins:
                if (worker.training) begin_step(happening.index);
                break;
            case What::finished: {
                from_worker::Finished finished{.id = worker.training->id, .outcome = worker.training->outcome};
                if (finished.outcome == Outcome::failed) finished.message = worker.training->cost.failure;
                worker.training.reset();
                --at_once_;
                listener(happening.index, execution::Received{std::move(finished)});
                break;
            }
            case What::exited:
                listener(happening.index, execution::Exited{});
                break;
            case What::processor:
                break;
        }
    }
}

double SimulatedExecutor::busy() const {
    const double now = clock_.now().count();
    if (now <= 0) return 0;
    double busy = 0;
    for (const SharedProcessor& processor : processors_) busy += processor.busy(now);
    const auto count =
        machine_.machine.accelerators.empty() ? cores_of(machine_.machine) : static_cast<double>(processors_.size());
    return busy / (now * count);
}

}  // namespace hpo
