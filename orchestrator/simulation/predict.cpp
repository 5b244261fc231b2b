#include "orchestrator/simulation/predict.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "hpo/clock.hpp"
#include "hpo/text.hpp"

namespace hpo {

namespace {

constexpr std::int64_t ample = std::int64_t{1} << 50;  // bytes of memory that are no limit
constexpr double cores_per_device = 16;                // of a machine whose cores are not given

template <class Number>
PredictedRange range_of(const std::vector<SimulatedEnd>& ends, Number&& number) {
    std::vector<double> numbers;
    for (const SimulatedEnd& end : ends) numbers.push_back(static_cast<double>(number(end)));
    std::sort(numbers.begin(), numbers.end());
    const auto last = static_cast<double>(numbers.size() - 1);
    const auto at = [&](double share) { return numbers[static_cast<std::size_t>(std::lround(share * last))]; };
    return {at(0.05), at(0.5), at(0.95)};
}

/// Returns the number of trials that all devices take at once, or nothing if one device takes as many as fit.
std::optional<std::int64_t> most_on_devices(const Hardware& hardware) {
    if (hardware.groups.empty()) return std::nullopt;
    std::int64_t most = 0;
    for (const DeviceGroup& group : hardware.groups) {
        if (!group.at_once) return std::nullopt;
        most += group.count * *group.at_once;
    }
    return most;
}

/// Returns the most steps that a trial of the run has taken; 0 if none took one.
std::int64_t most_steps_of(const RecordedRun& run) {
    std::int64_t most = 0;
    for (const RecordedTrial& trial : run.trials)
        if (!trial.curve.empty()) most = std::max(most, trial.curve.back().step);
    return most;
}

}  // namespace

Hardware hardware_of(const Study& study, const RecordedRun& run) {
    const auto workers = std::max<std::int64_t>(1, run.workers);
    Hardware hardware;
    hardware.cores = static_cast<double>(workers) * std::max(1.0, study.resources.trial.all_cores());
    hardware.cores_given = true;
    hardware.name = counted(workers, "worker");
    if (!run.on_device) return hardware;
    DeviceGroup group{.name = "device", .count = std::max<std::int64_t>(1, run.devices), .memory = ample};
    group.speed = Span{1, 1};
    group.at_once = (workers + group.count - 1) / group.count;
    // Trials were measured with the others beside them.
    group.throughput.clear();
    for (std::int64_t n = 1; n <= *group.at_once; ++n) group.throughput.push_back(static_cast<double>(n));
    hardware.groups.push_back(std::move(group));
    return hardware;
}

Result<SimulatedMachine> simulated_machine(const Study& study, const Hardware& hardware, const RecordedRun& run,
                                           double share) {
    SimulatedMachine simulated;
    Machine& machine = simulated.machine;
    const auto devices = hardware.devices();
    Machine::Host& host = machine.hosts.front();
    host.cores =
        hardware.cores_given || devices == 0 ? hardware.cores : cores_per_device * static_cast<double>(devices);
    host.memory = hardware.memory.value_or(ample);
    if (hardware.memory) host.reserve = std::min<std::int64_t>(host.memory / 10, std::int64_t{2} << 30);
    if (!(host.cores > 0)) return Error{"the simulated machine has no cores"};
    if (host.memory <= 0) return Error{"the simulated machine has no memory"};
    for (const DeviceGroup& group : hardware.groups) {
        if (group.memory <= 0) return Error{group.name + " has no memory: give it, such as memory: 80GB"};
        if (!group.speed)
            return Error{"how fast " + group.name +
                         " trains this study is not known: give its speed relative to where " +
                         "the study was measured, such as speed: [20, 40], in a YAML file for --devices"};
        for (std::int64_t i = 0; i < group.count; ++i) {
            machine.accelerators.push_back(
                {.id = group.name + ' ' + std::to_string(i),
                 .memory = group.memory,
                 .reserve = group.memory == ample ? 0
                                                  : static_cast<std::int64_t>(study.resources.gpu_reserve *
                                                                              static_cast<double>(group.memory)),
                 .parallel = group.at_once});
            simulated.speed.push_back(group.speed->at(share));
            simulated.throughput.push_back(group.throughput);
        }
    }
    if (devices == 0) simulated.speed.push_back(hardware.speed.value_or(Span{1, 1}).at(share));
    const double of_trial = study.resources.trial.all_cores();
    const double each = study.script() ? std::min(1.0, of_trial) : of_trial;
    const auto by_cores = static_cast<std::int64_t>(host.cores / each);
    auto limit = std::min<std::int64_t>(study.resources.parallel.value_or(by_cores), study.budget.trials);
    if (const auto by_devices = most_on_devices(hardware)) limit = std::min(limit, *by_devices);
    simulated.workers = static_cast<int>(std::max<std::int64_t>(1, limit));
    simulated.launch = run.launch;
    simulated.exit = run.exit;
    simulated.checkpoints = run.checkpoints;
    // The needs of a script's trials are known here, whereas `hpo run` learns them from the first trials.
    simulated.asks = true;
    return simulated;
}

Result<TimePrediction> predict(const Study& asked, const std::vector<PriorStudy>& priors, const Hardware& hardware,
                               const RecordedRun& run, const MakeWorkload& workload, const PredictionPlan& plan) {
    Study study = asked;
    if (study.budget.open) {
        // Trials that end by themselves are taken to have as many steps as the longest measured one.
        study.budget.open = false;
        study.budget.epochs = most_steps_of(run);
        if (study.budget.epochs == 0)
            return Error{"how many steps a trial of " + study.name + " takes is not known: state budget.epochs"};
    }
    const SteadyClock clock;
    const Seconds begun = clock.now();
    std::vector<SimulatedEnd> ends;
    for (std::int64_t i = 0; i < plan.simulations; ++i) {
        if (i > 0 && (clock.now() - begun).count() > plan.patience) break;
        const double share =
            plan.simulations > 1 ? static_cast<double>(i) / static_cast<double>(plan.simulations - 1) : 0.5;
        // The order of the shares is mixed, so that few simulations also cover the range.
        const double mixed = std::fmod(share * static_cast<double>(plan.simulations - 1) * 0.618034 + 0.5, 1.0);
        const auto machine = simulated_machine(study, hardware, run, mixed);
        if (!machine) return machine.error();
        const auto trials = workload(static_cast<std::uint64_t>(i));
        auto end = simulate(study, priors, *machine, *trials);
        if (!end) return end.error();
        ends.push_back(std::move(*end));
    }
    TimePrediction prediction;
    prediction.simulations = static_cast<std::int64_t>(ends.size());
    prediction.seconds = range_of(ends, [](const SimulatedEnd& end) { return end.seconds; });
    prediction.busy = range_of(ends, [](const SimulatedEnd& end) { return end.busy; });
    prediction.steps = range_of(ends, [](const SimulatedEnd& end) { return end.steps; });
    prediction.complete = range_of(ends, [](const SimulatedEnd& end) { return end.complete; });
    prediction.stopped = range_of(ends, [](const SimulatedEnd& end) { return end.stopped; });
    prediction.diverged = range_of(ends, [](const SimulatedEnd& end) { return end.diverged; });
    prediction.failed = range_of(ends, [](const SimulatedEnd& end) { return end.failed; });
    prediction.trials =
        static_cast<std::int64_t>(range_of(ends, [](const SimulatedEnd& end) { return end.trials; }).middle);
    prediction.at_once =
        static_cast<std::int64_t>(range_of(ends, [](const SimulatedEnd& end) { return end.most_at_once; }).middle);
    std::map<std::string, int> reasons;
    for (const SimulatedEnd& end : ends) ++reasons[end.reason];
    prediction.reason = std::max_element(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) {
                            return a.second < b.second;
                        })->first;
    if (const auto price = hardware.price_per_hour()) {
        const auto cost = [&](double seconds) { return seconds / 3600 * *price; };
        prediction.cost = PredictedRange{cost(prediction.seconds.low), cost(prediction.seconds.middle),
                                         cost(prediction.seconds.high)};
    }
    return prediction;
}

}  // namespace hpo
