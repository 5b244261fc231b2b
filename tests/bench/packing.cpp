// Compares packing by memory with a fixed number of trials per device: 200 trials with random footprints on 1, 4 and 8
// simulated devices.
//
//     bench_packing [seeds]
//
// The model. A device has 24 GiB. Up to four trials on it run at full speed. More share its throughput evenly, so that
// they neither gain nor lose. A trial by itself takes 10 s to start and 1 to 10 minutes (log-uniform) to train. Its
// memory follows a formula of its study (a constant, batch * width * depth, width^2 * depth with the optimizer's state,
// 2 % noise). It is 0.4 to 20 GiB, mostly small in one workload and large in the other. A trial takes a tenth of its
// memory at the start and the rest at a random point of the first fifth of its training. If that does not fit, it is
// killed, loses its work, and is queued again behind the others.
//
// The schedulers:
// - "one a device".
// - "count, safe": the largest number of trials on each device with which no trial of the study runs out of memory.
// - "count, fastest": the number with the least time to finish, with killed trials retried. Both numbers are chosen in
//   hindsight for each seed, from 1 to 24, and use all of the device's memory.
// - "hpo, exact": admission with known footprints, as native workers predict them. A tenth of each device stays free.
// - "hpo, learned": it learns footprints from the peaks of trials, as for scripts, and raises the reservations
//   of trials that ran out of memory.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "hpo/random.hpp"
#include "orchestrator/scheduling/footprints.hpp"
#include "orchestrator/scheduling/machine.hpp"
#include "orchestrator/scheduling/out_of_memory.hpp"
#include "tests/support/admit.hpp"

namespace {

using namespace hpo;

constexpr double GiB = 1024.0 * 1024 * 1024;
constexpr double capacity = 24 * GiB;
constexpr double knee = 4;
constexpr int trials = 200;
constexpr double start_up = 10;        // seconds of each attempt
constexpr double from_start_on = 0.1;  // share of a trial's memory

struct Trial {
    Params params;
    double bytes = 0;
    double work = 0;     ///< seconds at full speed
    double peak_at = 0;  ///< share of the work after which all bytes are taken
};

std::vector<Trial> draw_study(std::uint64_t seed, bool large) {
    std::uint64_t draws = 0;
    const auto unit = [&] { return draw_unit(seed, Purpose::synthetic, 4, draws++); };
    const auto log_uniform = [&](double low, double high) { return low * std::pow(high / low, unit()); };
    const double times = large ? 8 : 1;
    const double constant = log_uniform(0.4, 1.5) * GiB;
    const double activation = log_uniform(64, 512) * times, weight = log_uniform(16, 256) * times;
    std::vector<Trial> study;
    while (study.size() < trials) {
        const auto batch = std::int64_t(log_uniform(large ? 1024 : 256, 4096)),
                   width = std::int64_t(log_uniform(large ? 256 : 128, 2048));
        const auto depth = std::int64_t(1 + 8 * unit());
        const bool adam = unit() < 0.5;
        Trial trial;
        trial.params = {{"batch_size", batch},
                        {"width", width},
                        {"depth", depth},
                        {"lr", log_uniform(1e-4, 1e-2)},
                        {"optimizer", std::string(adam ? "adamw" : "sgd")}};
        const double size = double(width) * double(depth);
        trial.bytes =
            (constant + activation * double(batch) * size + weight * double(width) * size * (adam ? 1 : 0.5)) *
            (1 + 0.02 * (2 * unit() - 1));
        const double work = log_uniform(60, 600);
        trial.work = start_up + work;
        trial.peak_at = (start_up + 0.2 * unit() * work) / trial.work;
        if (trial.bytes <= 20 * GiB) study.push_back(std::move(trial));
    }
    return study;
}

struct Run {
    int trial = 0;
    int device = 0;
    double done = 0;  ///< seconds of work done
    bool peaked = false;
};

/// A scheduler. It is notified of events and decides which trials start.
struct Scheduler {
    virtual ~Scheduler() = default;
    virtual std::vector<std::pair<int, int>> launch(const std::vector<int>& waiting,
                                                    const std::vector<Run>& running) = 0;
    virtual void peaked(int) {}
    virtual void died(int, double /*used*/) {}
};

struct Outcome {
    double seconds = 0;
    double memory = 0;  ///< mean share of the capacity in use
    double deaths = 0;
};

Outcome simulate(const std::vector<Trial>& study, int devices, Scheduler& scheduler) {
    std::vector<int> waiting;
    for (int i = 0; i < trials; ++i) waiting.push_back(i);
    std::vector<Run> running;
    Outcome outcome;
    double now = 0, byte_seconds = 0;
    const auto holds = [&](const Run& run) {
        return study[std::size_t(run.trial)].bytes * (run.peaked ? 1 : from_start_on);
    };
    const auto used = [&](int device) {
        double sum = 0;
        for (const Run& run : running)
            if (run.device == device) sum += holds(run);
        return sum;
    };
    const auto die = [&](std::size_t i) {
        const Run dead = running[i];
        running.erase(running.begin() + std::ptrdiff_t(i));
        waiting.push_back(dead.trial);
        ++outcome.deaths;
        scheduler.died(dead.trial, study[std::size_t(dead.trial)].bytes * from_start_on);
    };
    while (!waiting.empty() || !running.empty()) {
        for (const auto& [trial, device] : scheduler.launch(waiting, running)) {
            waiting.erase(std::find(waiting.begin(), waiting.end(), trial));
            running.push_back({trial, device});
            if (used(device) > capacity) die(running.size() - 1);
        }
        if (running.empty() || outcome.deaths > 100 * trials) return {std::numeric_limits<double>::infinity(), 0, 1e9};
        std::vector<double> count(std::size_t(devices), 0);
        for (const Run& run : running) ++count[std::size_t(run.device)];
        const auto speed = [&](const Run& run) { return std::min(1.0, knee / count[std::size_t(run.device)]); };
        const auto goal = [&](const Run& run) {
            const Trial& trial = study[std::size_t(run.trial)];
            return run.peaked ? trial.work : trial.peak_at * trial.work;
        };
        std::size_t next = 0;
        double step = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < running.size(); ++i)
            if (const double wait = (goal(running[i]) - running[i].done) / speed(running[i]); wait < step)
                next = i, step = wait;
        step = std::max(step, 0.0);
        now += step;
        for (Run& run : running) byte_seconds += holds(run) * step, run.done += step * speed(run);
        Run& run = running[next];
        run.done = goal(run);
        if (run.peaked) {
            running.erase(running.begin() + std::ptrdiff_t(next));
            continue;
        }
        run.peaked = true;
        if (used(run.device) > capacity)
            die(next);
        else
            scheduler.peaked(run.trial);
    }
    outcome.seconds = now;
    outcome.memory = byte_seconds / (now * devices * capacity);
    return outcome;
}

/// Runs a fixed number of trials on each device.
struct Count : Scheduler {
    int devices, most;
    Count(int devices_, int most_) : devices(devices_), most(most_) {}
    std::vector<std::pair<int, int>> launch(const std::vector<int>& waiting, const std::vector<Run>& running) override {
        std::vector<int> count(std::size_t(devices), 0);
        for (const Run& run : running) ++count[std::size_t(run.device)];
        std::vector<std::pair<int, int>> launches;
        for (const int trial : waiting) {
            const auto least = std::min_element(count.begin(), count.end());
            if (*least >= most) break;
            ++*least;
            launches.emplace_back(trial, int(least - count.begin()));
        }
        return launches;
    }
};

struct Packed : Scheduler {
    const std::vector<Trial>& study;
    Machine machine;
    bool learns;
    FootprintModel model{{}, true};
    std::map<int, Reservation> reservations;  ///< of running trials
    std::map<int, NextTry> floors;            ///< after a death
    std::map<int, std::int64_t> deaths;
    double microseconds = 0, decisions = 0;

    Packed(const std::vector<Trial>& study_, int devices, bool learns_) : study(study_), learns(learns_) {
        machine.hosts[0].cores = 1e6;
        machine.hosts[0].memory = std::int64_t{1} << 50;
        for (int i = 0; i < devices; ++i)
            machine.accelerators.push_back(
                {.id = std::to_string(i), .memory = std::int64_t(capacity), .reserve = std::int64_t(capacity / 10)});
    }
    [[nodiscard]] TrialNeeds ask(int trial) const {
        const Trial& t = study[std::size_t(trial)];
        if (!learns) return {trial, {std::int64_t(t.bytes), 0, 1}, 1};
        const Prediction prediction = model.predict(t.params);
        TrialNeeds waiting{trial, prediction.footprint, 1, prediction.alone};
        const auto room = std::int64_t(0.9 * capacity);
        waiting.footprint.device_bytes = std::min(waiting.footprint.device_bytes, room);
        if (const auto floor = floors.find(trial); floor != floors.end()) {
            waiting.footprint.device_bytes =
                std::max(waiting.footprint.device_bytes, floor->second.reservation.device_bytes);
            waiting.alone |= floor->second.alone;
        }
        return waiting;
    }
    std::vector<std::pair<int, int>> launch(const std::vector<int>& waiting, const std::vector<Run>& running) override {
        std::map<int, Reservation> still;
        std::vector<Reservation> held;
        for (const Run& run : running) held.push_back(still[run.trial] = reservations.at(run.trial));
        reservations = still;
        std::vector<TrialNeeds> asks;
        for (const int trial : waiting) asks.push_back(ask(trial));
        const auto begin = std::chrono::steady_clock::now();
        const testing::Admitted admission = testing::admit(machine, held, asks, {});
        microseconds += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
        ++decisions;
        if (!admission.never.empty() || admission.kept_out) std::fprintf(stderr, "refused\n"), std::exit(1);
        std::vector<std::pair<int, int>> launches;
        for (const auto& [trial, device, joins, more] : admission.launch) {
            const auto& asked =
                *std::find_if(asks.begin(), asks.end(), [&](const TrialNeeds& w) { return w.trial == trial; });
            reservations[int(trial)] = {trial, asked.footprint, device, asked.alone};
            launches.emplace_back(int(trial), device);
        }
        return launches;
    }
    void peaked(int trial) override {
        if (!learns) return;
        const Trial& t = study[std::size_t(trial)];
        const Footprint peak{std::int64_t(t.bytes), 0, 1};
        model.measured(t.params, peak);
        reservations.at(trial).footprint = with_measurement_error(peak);
        reservations.at(trial).alone = false;
    }
    void died(int trial, double used) override {
        MemoryDeath death;
        death.reserved = reservations.at(trial).footprint;
        death.used.device_bytes = std::int64_t(used);
        death.alone = reservations.at(trial).alone;
        death.on_device = true;
        death.deaths = ++deaths[trial];
        death.capacity = {std::int64_t(0.9 * capacity), machine.hosts[0].memory, 0};
        const auto next = after_out_of_memory(death);
        if (!next) std::fprintf(stderr, "given up: %s\n", next.error().message.c_str()), std::exit(1);
        floors.insert_or_assign(trial, *next);
    }
};

std::string spread(std::vector<double> values, const char* format) {
    std::sort(values.begin(), values.end());
    char text[120], all[400];
    std::string parts[3];
    const double shown[] = {values[values.size() / 2], values.front(), values.back()};
    for (int i = 0; i < 3; ++i) std::snprintf(text, sizeof text, format, shown[i]), parts[i] = text;
    std::snprintf(all, sizeof all, "%s (%s to %s)", parts[0].c_str(), parts[1].c_str(), parts[2].c_str());
    return all;
}

/// The results of one scheduler, with a value for each seed.
struct Column {
    std::vector<double> count, minutes, ratio, memory, deaths;
};

struct Decisions {
    double microseconds = 0, number = 0;
};

void compare(int devices, bool large, int seeds, Decisions& decisions) {
    const char* names[] = {"one a device", "count, safe", "count, fastest", "hpo, exact", "hpo, learned"};
    Column columns[5];
    for (int seed = 1; seed <= seeds; ++seed) {
        const std::vector<Trial> study = draw_study(std::uint64_t(seed), large);
        Outcome outcomes[5];
        double chosen[5] = {1, 1, 1, 0, 0};
        for (int count = 1; count <= 24; ++count) {
            Count scheduler(devices, count);
            const Outcome outcome = simulate(study, devices, scheduler);
            if (count == 1) outcomes[0] = outcomes[1] = outcomes[2] = outcome;
            if (outcome.deaths == 0 && outcome.seconds < outcomes[1].seconds) outcomes[1] = outcome, chosen[1] = count;
            if (outcome.seconds < outcomes[2].seconds) outcomes[2] = outcome, chosen[2] = count;
        }
        for (const bool learns : {false, true}) {
            Packed scheduler(study, devices, learns);
            outcomes[3 + int(learns)] = simulate(study, devices, scheduler);
            decisions.microseconds += scheduler.microseconds, decisions.number += scheduler.decisions;
        }
        for (int i = 0; i < 5; ++i) {
            columns[i].count.push_back(chosen[i]);
            columns[i].minutes.push_back(outcomes[i].seconds / 60);
            columns[i].ratio.push_back(outcomes[i].seconds / outcomes[3].seconds);
            columns[i].memory.push_back(100 * outcomes[i].memory);
            columns[i].deaths.push_back(outcomes[i].deaths);
        }
    }
    for (int i = 0; i < 5; ++i)
        std::printf("| %d | %-14s | %-14s | %-24s | %-19s | %-14s | %-14s |\n", devices, names[i],
                    i < 3 ? spread(columns[i].count, "%.0f").c_str() : "as many as fit",
                    spread(columns[i].minutes, "%.1f").c_str(), spread(columns[i].ratio, "%.2f").c_str(),
                    spread(columns[i].memory, "%.0f").c_str(), spread(columns[i].deaths, "%.0f").c_str());
}

}  // namespace

int main(int argc, char** argv) {
    const int seeds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
    std::printf("%d trials, %d seeds: median (least to greatest)\n", trials, seeds);
    Decisions decisions;
    for (const bool large : {false, true}) {
        std::vector<double> sizes;
        for (int seed = 1; seed <= seeds; ++seed)
            for (const Trial& trial : draw_study(std::uint64_t(seed), large)) sizes.push_back(trial.bytes / GiB);
        std::printf("\n%s trials: %s GiB\n", large ? "large" : "small", spread(sizes, "%.1f").c_str());
        std::printf(
            "| devices | scheduler | count a device | minutes to finish | to hpo, exact | memory used, %% | "
            "out of memory |\n|---|---|---|---|---|---|---|\n");
        for (const int devices : {1, 4, 8}) compare(devices, large, seeds, decisions);
    }
    std::printf("\na decision with up to 200 waiting: %.0f us on average\n", decisions.microseconds / decisions.number);
}
