// hpo monitor: samples the machine's load for a time or while a program runs, and reports what limits it.
#include <unistd.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>

#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hpo/interrupted.hpp"
#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/child_program.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/live_samples.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/devices/nvml.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_rates.hpp"
#include "orchestrator/output/telemetry_output.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/study/fields.hpp"
#include "orchestrator/telemetry/sampler.hpp"
#include "orchestrator/telemetry/session_telemetry.hpp"
#include "orchestrator/telemetry/verdict.hpp"
#include "orchestrator/view/telemetry.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {

namespace {

using Json = nlohmann::ordered_json;

struct MonitorArguments {
    std::string time, csv, study;
    double interval = 1;
    bool json = false;
    std::vector<std::string> command;
};

constexpr double longest_time = 366.0 * 86400;

struct MonitorResult {
    double seconds = 0;
    TelemetrySummary summary;
    std::vector<std::string> verdict;
    std::string problem;        ///< why GPUs cannot be read; empty if they can or there are none
    std::optional<int> status;  ///< the program's exit status
    int signal = 0;             ///< the signal that ended the monitoring, or 0
};

MonitorResult monitor_machine(const MonitorArguments& arguments, double longest) {
    const SteadyClock clock;
    Foreground foreground;
    std::optional<TelemetryCsv> csv;
    if (!arguments.csv.empty()) csv.emplace(arguments.csv);
    const Host host = read_host();
    DeviceMonitor devices({.program = installed_programs().hpo});
    devices.start(clock.now(), [](const std::string& message) { std::fprintf(stderr, "hpo: %s\n", message.c_str()); });
    if (!arguments.command.empty()) foreground.start(arguments.command);

    TelemetrySampler sampler(host, clock.now());
    TelemetryCollector collector;
    StudyRates studies;
    LiveSamples live(arguments.json || !arguments.command.empty());
    MonitorResult result;
    const Seconds begin = clock.now();
    for (Seconds due = begin + Seconds(arguments.interval);;) {
        const Seconds end = begin + Seconds(longest);
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
            live.show(sample, (now - begin).count());
            // Skip missed samples, for example after the machine was suspended.
            while (due <= now) due += Seconds(arguments.interval);
        }
        if (now >= end) break;
    }
    live.end();
    if (csv) csv->close();
    result.seconds = (clock.now() - begin).count();
    result.summary = collector.summarise();
    result.verdict = verdict(result.summary, {host.cores, power_limits(devices.latest())});
    const std::string& problem = devices.latest().problem;
    result.problem = problem.empty() ? gpu_without_driver() : problem;
    result.status = foreground.status();
    return result;
}

Json to_json(const MonitorResult& result) {
    return {{"schema", json_schema},
            {"seconds", result.seconds},
            {"channels", channels_json(result.summary)},
            {"verdict", result.verdict},
            {"problem", result.problem.empty() ? Json(nullptr) : Json(result.problem)},
            {"status", result.status ? Json(*result.status) : Json(nullptr)}};
}

/// Returns the telemetry that a study's database has stored while its trials trained. Throws Fatal if there is none.
MonitorResult read_study(const std::string& name) {
    const StudySnapshot snapshot = snapshot_or_fail(choose_study(name));
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

int monitor_command(const MonitorArguments& arguments) {
    double longest = longest_time;
    if (!arguments.time.empty()) {
        const auto duration = study::duration_of(arguments.time);
        if (!duration || !(*duration > 0 && *duration <= longest_time))
            throw Fatal("--for " + printable(arguments.time) + ": expected a duration such as 90s, 5m or 2h", 2);
        longest = *duration;
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    const MonitorResult result =
        arguments.study.empty() ? monitor_machine(arguments, longest) : read_study(arguments.study);
    if (arguments.json) {
        print(to_json(result).dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
    } else {
        std::string text = view::draw_summary(result.summary, view::screen_of_stdout());
        text += "\n" + duration_text(result.seconds) + ":\n";
        for (const std::string& sentence : result.verdict) text += "  " + printable(sentence) + '\n';
        if (!result.problem.empty()) text += "  GPUs were not sampled: " + printable(result.problem) + '\n';
        // As with time(1), standard output belongs to the program.
        if (arguments.command.empty())
            print(text);
        else
            std::fputs(text.c_str(), stderr);
    }
    if (result.status) return *result.status;
    return result.signal == 0 || result.signal == SIGINT ? 0 : exit_status_of(result.signal);
}

}  // namespace

CommandAction monitor(CLI::App& app) {
    const auto arguments = std::make_shared<MonitorArguments>();
    const auto time = app.add_option("--for", arguments->time,
                                     "How long, as 90s, 5m or 2h; default: until Ctrl-C or the program's end");
    app.add_option("--interval", arguments->interval, "Seconds between two samples")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    const auto csv = app.add_option("--csv", arguments->csv, "Write each value to this new file");
    app.add_flag("--json", arguments->json, "One JSON object at the end, and nothing else");
    const auto command = app.add_option("COMMAND", arguments->command, "A program and its arguments, after --");
    app.add_option("--study", arguments->study, "Show the samples of this study's run, and exit")
        ->excludes(command)
        ->excludes(csv)
        ->excludes(time);
    return [arguments] { return monitor_command(*arguments); };
}

}  // namespace hpo::commands
