// Simulated machines on which trials run side by side or fused, for tests of the search for the number of trials at
// once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "orchestrator/scheduling/device_concurrency.hpp"

namespace hpo {

/// A machine on which each of n trials runs at `speed(n)` of its speed alone.
struct SimulatedMachine {
    std::function<double(std::int64_t)> speed;
    std::int64_t cores = 2, most = 16;  ///< start and upper limit of the search
    std::int64_t trials = 60, steps = 20;
    double noise = 0;          ///< standard deviation of the logarithm of a step's time
    double outliers = 0;       ///< share of the steps that take twice as long
    double held_up_each = 0;   ///< mean seconds between times in which nothing runs for one to three seconds; 0: none
    double drift = 0;          ///< by which all steps take longer with each second
    double unequal = 0;        ///< trials differ in size by up to exp(+-unequal)
    double start_seconds = 1;  ///< before the first step
    std::uint64_t seed = 1;
    /// Given: `speed` is not used, but this many cores are shared evenly with `other_threads` threads of other
    /// programs, and thread times are read if `reads_threads`.
    double real_cores = 0, other_threads = 0;
    bool reads_threads = false;
    double asleep = 0;  ///< of a step alone, seconds without a core; the rest of it computes
    FoundConcurrency remembered{};
    std::int64_t slots = 1;  ///< more: all trials share one worker, and the number of fused trials is searched
};

struct Simulated {
    DeviceConcurrency concurrency;
    double seconds = 0;
    std::int64_t most_at_once = 0;
    [[nodiscard]] std::int64_t number() const { return concurrency.workers().number(); }
};

/// Plays trials that start as soon as the limit allows it. Their rates change whenever one starts or ends.
inline Simulated simulate(const SimulatedMachine& machine) {
    struct Trial {
        double size = 1, left = 0;  ///< seconds per step alone; work left of the current step
        ThreadTime threads{};
        std::int64_t step = 0;
    };
    std::mt19937_64 random(machine.seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(-1, 1);
    const bool is_fused = machine.slots > 1;
    Simulated result{is_fused ? DeviceConcurrency({1, 1}, {machine.cores, machine.slots}, {{}, machine.remembered})
                              : DeviceConcurrency({machine.cores, machine.most}, {1, 1}, {machine.remembered, {}},
                                                  machine.reads_threads ? machine.real_cores : 0)};
    std::map<std::int64_t, Trial> running;
    std::int64_t begun = 0;
    double now = 0;
    const auto left = [&] { return machine.trials - begun; };
    const auto tell = [&] {
        std::vector<MeteredTrial> trials;
        for (const auto& [number, trial] : running) trials.push_back({number, is_fused ? 0 : static_cast<int>(number)});
        result.concurrency.run(trials, left());
    };
    const auto limit = [&] {
        return is_fused ? result.concurrency.fused().limit() : result.concurrency.workers().limit();
    };
    const auto chance = [&] { return (uniform(random) + 1) / 2; };
    const auto work = [&](const Trial& trial) {
        const double outlier = machine.outliers > 0 && chance() < machine.outliers ? 2 : 1;
        return outlier * trial.size * std::exp(machine.noise * normal(random));
    };
    const auto until_held_up = [&] {
        return machine.held_up_each > 0 ? -machine.held_up_each * std::log(1 - chance())
                                        : std::numeric_limits<double>::infinity();
    };
    double held_up = until_held_up();
    for (;;) {
        while (begun < machine.trials && static_cast<std::int64_t>(running.size()) < limit()) {
            Trial trial{std::exp(machine.unequal * uniform(random))};
            trial.left = machine.start_seconds + work(trial);
            running[++begun] = trial;
            tell();
        }
        if (running.empty()) break;
        const auto count = static_cast<std::int64_t>(running.size());
        result.most_at_once = std::max(result.most_at_once, count);
        // Threads that share cores get equal shares; a thread that sleeps leaves its own to the others.
        const double runnable = 1 - machine.asleep;
        double share = 1;
        for (int round = 0; machine.real_cores > 0 && round < 100; ++round) {
            const double awake = runnable / (machine.asleep * share + runnable);  // of a trial's time
            const double threads = static_cast<double>(count) * awake + machine.other_threads;
            share = (share + std::min(1.0, machine.real_cores / threads)) / 2;
        }
        const double speed = machine.real_cores > 0 ? 1 / (machine.asleep + runnable / share) : machine.speed(count);
        const double rate = speed / (1 + machine.drift * now);
        auto next = running.begin();
        for (auto trial = running.begin(); trial != running.end(); ++trial)
            if (trial->second.left < next->second.left) next = trial;
        const double passed = next->second.left / rate;
        now += passed;
        if (now > held_up) {
            now += 1 + 2 * chance();
            held_up = now + until_held_up();
        }
        for (auto& [number, trial] : running) {
            trial.left -= passed * rate;
            trial.threads.running += passed * speed * runnable;
            trial.threads.waiting += passed * speed * runnable * (1 / share - 1);
        }
        const std::int64_t number = next->first;
        Trial& trial = next->second;
        ++trial.step;
        result.concurrency.reported(number, trial.step, Seconds(now), left(), trial.threads);
        if (trial.step < machine.steps) {
            trial.left = work(trial);
        } else {
            running.erase(next);
            // As in the engine, one that follows at once leaves the number unchanged.
            if (static_cast<std::int64_t>(running.size()) >= limit() || begun >= machine.trials) tell();
        }
    }
    result.seconds = now;
    return result;
}

}  // namespace hpo
