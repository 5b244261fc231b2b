// hpo monitor: samples the machine's load for a time or while a program runs, and reports its bottleneck.
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
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/live_samples.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/monitoring/monitor.hpp"
#include "orchestrator/study/fields.hpp"
#include "orchestrator/view/telemetry.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {

namespace {

struct MonitorArguments {
    std::string time, csv, study;
    double interval = 1;
    bool json = false;
    std::vector<std::string> command;
};

constexpr double longest_time = 366.0 * 86400;
constexpr double shortest_interval = 0.1;  // seconds

MonitorResult sample_machine(const MonitorArguments& arguments, double longest) {
    LiveSamples live(arguments.json || !arguments.command.empty());
    const MonitorResult result =
        monitor_machine({longest, arguments.interval, arguments.csv, arguments.command},
                        [&](const TelemetrySample& sample, double seconds) { live.show(sample, seconds); });
    live.end();
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
    const MonitorResult result = arguments.study.empty()
                                     ? sample_machine(arguments, longest)
                                     : monitored_study(snapshot_or_fail(choose_study(arguments.study)));
    if (arguments.json) {
        print(monitor_json(result).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
    } else {
        std::string text;
        if (result.summary.empty()) {
            text = "no sample was taken in " + duration_text(result.seconds) + ": the first comes after " +
                   duration_text(arguments.interval) +
                   (arguments.interval > shortest_interval ? ", with --interval 0.1 after 100 ms" : "") + '\n';
        } else {
            text = view::draw_summary(result.summary, view::screen_of_stdout());
            text += "\n" + duration_text(result.seconds) + ":\n";
            for (const std::string& sentence : result.verdict) text += "  " + printable(sentence) + '\n';
        }
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
        ->check(CLI::Range(shortest_interval, 3600.0))
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
