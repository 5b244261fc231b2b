// hpo monitor: samples the machine's load for a time or while a program runs, and reports what limits it.
#include <unistd.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hpo/interrupted.hpp"
#include "hpo/printable.hpp"
#include "hpo/units.hpp"
#include "orchestrator/cli/child_program.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/devices/nvml.hpp"
#include "orchestrator/devices/session_registry.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/output/output_path.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/study/fields.hpp"
#include "orchestrator/telemetry/rates.hpp"
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

/// The training speeds of the studies in this folder that are running on this machine.
class StudyRates {
   public:
    void add_to(TelemetrySample& sample) {
        for (const SessionReservations& session : read_sessions()) {
            StudySnapshot* snapshot = find(session);
            if (snapshot == nullptr || !snapshot->refresh()) continue;
            double rate = 0;
            for (const TrialRecord& trial : snapshot->record.trials)
                if (trial.state == TrialState::running && !trial.curve.empty())
                    rate += trial.curve.back().iterations_per_second.value_or(0);
            if (rate > 0) sample.push_back(measurement("study " + session.study, Quantity::speed, rate));
        }
    }

   private:
    StudySnapshot* find(const SessionReservations& session) {
        const auto known = studies_.find(session.study);
        if (known != studies_.end()) return known->second ? &*known->second : nullptr;
        auto& study = studies_[session.study];
        const StudyFolder folder = study_folder(session.study);
        std::error_code none;
        if (!std::filesystem::exists(folder.database(), none)) return nullptr;
        auto snapshot = take_snapshot(folder);
        if (snapshot && snapshot->holder && snapshot->holder->pid == session.pid) study = std::move(*snapshot);
        return study ? &*study : nullptr;
    }

    std::map<std::string, std::optional<StudySnapshot>> studies_;  ///< by name; nothing if it is not in this folder
};

/// Writes one row for each value: the time in UTC, the source, the quantity, the value, its unit, and 1 if it is
/// possible. Throws Fatal on write errors.
class CsvWriter {
   public:
    explicit CsvWriter(const std::string& path) {
        auto file = FileWriter::create(path, path);
        if (!file) throw Fatal("--csv " + file.error().message);
        file_ = std::move(*file);
        write("time,source,quantity,value,unit,possible\n");
    }
    void add(const TelemetrySample& sample) {
        const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
        const std::string time = utc_text(now);
        std::string rows;
        for (const Measurement& measured : sample) {
            const QuantityTraits& traits = traits_of(measured.channel.quantity);
            char value[40];
            std::snprintf(value, sizeof value, "%.10g", measured.value);
            rows += time + ',' + measured.channel.source + ',' + std::string(traits.name) + ',' + value + ',' +
                    std::string(traits.unit) + ',' + (measured.possible ? "1" : "0") + '\n';
        }
        write(rows);
    }
    void close() {
        if (const auto closed = file_->close(false); !closed) throw Fatal("--csv " + closed.error().message);
    }

   private:
    void write(const std::string& text) {
        if (const auto written = file_->write(text); !written) throw Fatal("--csv " + written.error().message);
    }
    std::optional<FileWriter> file_;
};

/// Shows samples while they are taken, in place on a terminal and otherwise as lines. A silent view shows nothing. It
/// is used with --json, and with a program, which writes to the terminal itself.
class LiveView {
   public:
    explicit LiveView(bool silent) : silent_(silent) {
        if (!silent && view::is_terminal(STDOUT_FILENO)) block_.emplace();
    }
    void show(const TelemetrySample& sample, double seconds) {
        if (silent_ || sample.empty()) return;
        const std::string text = view::draw_sample(sample, view::screen_of_stdout());
        if (block_)
            block_->draw(duration_text(seconds) + ", Ctrl-C ends\n" + text);
        else
            print(text);
    }
    void end() {
        if (block_) block_->clear();
        block_.reset();
    }

   private:
    bool silent_;
    std::optional<view::LiveBlock> block_;
};

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
    std::optional<CsvWriter> csv;
    if (!arguments.csv.empty()) csv.emplace(arguments.csv);
    const Host host = read_host();
    DeviceMonitor devices({.program = installed_programs().hpo});
    devices.start(clock.now(), [](const std::string& message) { std::fprintf(stderr, "hpo: %s\n", message.c_str()); });
    if (!arguments.command.empty()) foreground.start(arguments.command);

    TelemetrySampler sampler(host, clock.now());
    TelemetryCollector collector;
    StudyRates studies;
    LiveView live(arguments.json || !arguments.command.empty());
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
    Json channels = Json::array();
    for (const auto& [channel, figures] : result.summary) {
        const QuantityTraits& traits = traits_of(channel.quantity);
        Json json{{"source", channel.source},
                  {"quantity", traits.name},
                  {"unit", traits.unit},
                  {"samples", figures.count},
                  {"impossible", figures.impossible}};
        const auto add = [&](const char* name, double value) {
            json[name] = figures.count > 0 ? Json(value) : Json(nullptr);
        };
        add("average", figures.average);
        add("least", figures.least);
        add("p5", figures.percentile_5);
        add("median", figures.median);
        add("p95", figures.percentile_95);
        add("most", figures.most);
        channels.push_back(std::move(json));
    }
    return {{"schema", json_schema},
            {"seconds", result.seconds},
            {"channels", std::move(channels)},
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
