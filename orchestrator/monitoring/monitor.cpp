#include "orchestrator/monitoring/monitor.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "hpo/clock.hpp"
#include "hpo/text.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/devices/nvml.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/execution/child_program.hpp"
#include "orchestrator/lookup/study_rates.hpp"
#include "orchestrator/output/telemetry_output.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/telemetry/sampler.hpp"
#include "orchestrator/telemetry/session_telemetry.hpp"
#include "orchestrator/telemetry/verdict.hpp"

namespace hpo {

MonitorResult monitor_machine(const MonitorPlan& plan,
                              const std::function<void(const TelemetrySample& sample, double seconds)>& show) {
    const SteadyClock clock;
    Foreground foreground;
    std::optional<TelemetryCsv> csv;
    if (!plan.csv.empty()) csv.emplace(plan.csv);
    const Host host = read_host();
    DeviceMonitor devices({.program = installed_programs().hpo});
    devices.start(clock.now(), [](const std::string& message) { std::fprintf(stderr, "hpo: %s\n", message.c_str()); });
    if (!plan.command.empty()) foreground.start(plan.command);

    TelemetrySampler sampler(host, clock.now());
    TelemetryCollector collector;
    StudyRates studies;
    MonitorResult result;
    const Seconds begin = clock.now();
    for (Seconds due = begin + Seconds(plan.interval);;) {
        const Seconds end = begin + Seconds(plan.longest);
        const int signal = foreground.wait(std::min(due, end) - clock.now());
        if (foreground.status()) break;
        // Ctrl-C reaches the program too. Keep waiting for it to end, to get its exit status.
        if (signal != 0 && foreground.pid() == 0) {
            result.signal = signal;
            break;
        }
        const Seconds now = clock.now();
        if (now >= due || now >= end) {
            devices.poll(now);
            TelemetrySample sample = sampler.take(now, devices.latest(), foreground.pid());
            studies.add_to(sample);
            collector.add(sample);
            if (csv) csv->add(sample);
            show(sample, (now - begin).count());
            // Skip missed samples, for example after the machine was suspended.
            while (due <= now) due += Seconds(plan.interval);
        }
        if (now >= end) break;
    }
    if (csv) csv->close();
    result.seconds = (clock.now() - begin).count();
    result.summary = collector.summarise();
    result.verdict = verdict(result.summary, {host.cores, power_limits(devices.latest())});
    const std::string& problem = devices.latest().problem;
    result.problem = problem.empty() ? gpu_without_driver() : problem;
    result.status = foreground.status();
    return result;
}

MonitorResult monitored_study(const StudySnapshot& snapshot) {
    const auto rows = snapshot.store->telemetry();
    if (!rows) throw Fatal(rows.error().message);
    if (rows->empty())
        throw Fatal("study " + snapshot.study.name + " has no telemetry: its trials trained for less than " +
                    duration_text(telemetry_interval) + ", or an earlier version of hpo ran it");
    MonitorResult result;
    for (const TelemetryRow& row : *rows)
        if (row.time != (&row == rows->data() ? 0 : (&row - 1)->time)) result.seconds += row.seconds;
    result.summary = summarise(*rows);
    result.verdict = verdict(result.summary, {.cores = read_host().cores});
    return result;
}

nlohmann::ordered_json monitor_json(const MonitorResult& result) {
    return {
        {"schema", json_schema},
        {"seconds", result.seconds},
        {"channels", channels_json(result.summary)},
        {"verdict", result.verdict},
        {"problem", result.problem.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(result.problem)},
        {"status", result.status ? nlohmann::ordered_json(*result.status) : nlohmann::ordered_json(nullptr)}};
}

}  // namespace hpo
