// hpo report: writes a page about a study.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "hpo/printable.hpp"
#include "hpo/step_name.hpp"
#include "hpo/units.hpp"
#include "hpo/version.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/cli/best_config.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/importance.hpp"
#include "orchestrator/cli/or_fail.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/engine/worker_output.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/output/output_path.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/page/columns.hpp"
#include "orchestrator/page/page.hpp"
#include "orchestrator/view/report.hpp"

namespace hpo::commands {

namespace {

using page::Json;

struct ReportArguments {
    std::string study, path;
    bool force = false;
};

Json text_or_nothing(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

/// Returns the configuration of a trial as `hpo best` prints it.
Json configuration_of(const Study& study, const TrialRecord& trial) {
    return {{"trial", trial.number},
            {"yaml", best_config(study, trial, "yaml")},
            {"deviation", wire::from(deviation_of_seeds(trial))},
            {"environment", trial.allocation.environment}};
}

/// Returns the texts of the answer; `configuration` is that of the best trial, or of the front's first.
Json answer_of(const StudySnapshot& snapshot) {
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const auto moment = view::moment_of(snapshot.record, now, snapshot.holder.has_value());
    const std::string& reason = snapshot.record.end_reason;
    const TrialRecord* best = best_trial(snapshot.record, snapshot.study.objective);
    return {
        {"written", utc_text(now)},
        {"seconds", moment.seconds},
        {"end", snapshot.holder ? "running" : reason.substr(0, reason.find('\n'))},
        {"step", step_name(snapshot.study)},
        {"states", view::states_text(snapshot.record)},
        {"stopping", view::savings_text(snapshot.study, snapshot.record)},
        {"limit", text_or_nothing(limit_of_machine(snapshot))},
        {"constraints", text_or_nothing(view::constraints_text(snapshot.record, snapshot.study.objective))},
        {"front", snapshot.study.objective.further.empty() ? Json(nullptr)
                                                           : Json(view::front_text(snapshot.study, snapshot.record))},
        {"configuration", best == nullptr ? Json(nullptr) : configuration_of(snapshot.study, *best)}};
}

/// Returns the curves of the trials that have one: of all, or of a large study the best and others at equal distances.
Json curves_of(const StudySnapshot& snapshot) {
    std::vector<std::int64_t> with_curve;
    for (const TrialRecord& trial : snapshot.record.trials)
        if (!trial.curve.empty()) with_curve.push_back(trial.number);
    std::vector<std::int64_t> shown = with_curve;
    if (with_curve.size() > page::CurveColumns::most_curves) {
        shown.clear();
        for (const TrialRecord* trial : ranking(snapshot.record, snapshot.study.objective)) {
            if (shown.size() == page::CurveColumns::most_curves / 10) break;
            shown.push_back(trial->number);
        }
        const std::size_t others = page::CurveColumns::most_curves - shown.size();
        for (std::size_t i = 0; i < others; ++i) shown.push_back(with_curve[i * with_curve.size() / others]);
        std::sort(shown.begin(), shown.end());
        shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
    }
    page::CurveColumns curves(snapshot.study.objective.metric, shown.size());
    for (const std::int64_t number : shown) curves.add(or_fail(snapshot.whole(snapshot.record.trial(number))));
    Json json = curves.json();
    json["of"] = with_curve.size();
    return json;
}

/// Returns the machine on which the page is written, which the study may have run on.
Json machine() {
    const Host host = read_host();
    return {{"name", host_name()}, {"cpu", host.cpu_name}, {"cores", host.cores}, {"memory", host.memory}};
}

/// Adds where and when trials ran, and the sessions.
void add_events(Json& json, const StudySnapshot& snapshot) {
    constexpr std::size_t batch = 4096, most_sessions = 20;
    page::AttemptColumns attempts;
    std::vector<Json> sessions;
    for (std::int64_t sequence = 0;;) {
        const auto events = or_fail(snapshot.store->events_to_resume(sequence, batch));
        for (const StoredEvent& stored : events) {
            sequence = stored.sequence;
            attempts.add(stored);
            if (const auto* session = std::get_if<event::SessionStarted>(&stored.event))
                sessions.push_back(
                    {{"host", session->host}, {"version", session->version}, {"started", utc_text(stored.time)}});
        }
        if (events.size() < batch || sequence >= snapshot.record.sequence) break;
    }
    json["attempts"] = attempts.json();
    if (sessions.size() > most_sessions)
        sessions.erase(sessions.begin(), sessions.end() - static_cast<std::ptrdiff_t>(most_sessions));
    json["sessions"] = std::move(sessions);
}

/// Returns the end of a file as at most `lines` lines of printable text.
std::string end_of_file(const std::filesystem::path& path, std::size_t lines) {
    constexpr std::streamoff most_bytes = 8192;
    std::ifstream stream(path, std::ios::binary | std::ios::ate);
    if (!stream) return {};
    const std::streamoff size = stream.tellg();
    stream.seekg(std::max<std::streamoff>(0, size - most_bytes));
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::size_t from = text.size();
    for (std::size_t i = 0; i < lines && from != std::string::npos && from > 0; ++i) from = text.rfind('\n', from - 1);
    if (from != std::string::npos && from > 0) text.erase(0, from + 1);
    return printable(text, true);
}

/// Returns the trials that failed or diverged, the last ones first, with their reasons and the ends of their logs.
Json failures_of(const StudySnapshot& snapshot) {
    constexpr std::size_t most = 100, log_lines = 30;
    Json failures = Json::array();
    const auto& trials = snapshot.record.trials;
    for (auto trial = trials.rbegin(); trial != trials.rend() && failures.size() < most; ++trial)
        if (trial->state == TrialState::failed || trial->state == TrialState::diverged)
            failures.push_back({{"trial", trial->number},
                                {"state", to_text(trial->state)},
                                {"attempts", trial->attempt},
                                {"reason", printable(trial->reason, true)},
                                {"log", end_of_file(snapshot.folder.trial_log(trial->number), log_lines)}});
    return failures;
}

/// Returns the commit of the folder in which the study's trials run, as it is now; null outside a repository.
Json git_state(const Study& study) {
    const std::string folder = study.home.empty() ? "." : study.home;
    const auto git = [&](std::vector<std::string> arguments) {
        std::vector<std::string> command{"/usr/bin/env", "git", "-c", "core.fsmonitor=false", "-C", folder};
        command.insert(command.end(), arguments.begin(), arguments.end());
        WorkerOutput output = program_output(command, {{"GIT_OPTIONAL_LOCKS", "0"}});
        while (!output.text.empty() && output.text.back() == '\n') output.text.pop_back();
        return output;
    };
    const WorkerOutput commit = git({"rev-parse", "HEAD"});
    if (commit.status != 0) return nullptr;
    const WorkerOutput changed = git({"status", "--porcelain", "--untracked-files=no"});
    return {{"commit", commit.text},
            {"branch", text_or_nothing(git({"branch", "--show-current"}).text)},
            {"changed", changed.status == 0 ? Json(changed.text) : Json(nullptr)}};
}

Json document_of(StudySnapshot& snapshot) {
    Json json{{"schema", json_schema},
              {"version", version},
              {"study", study_json(snapshot)},
              {"answer", answer_of(snapshot)},
              {"space", page::space_columns(snapshot.study)},
              {"trials", page::trial_columns(snapshot.study, snapshot.record)},
              {"curves", curves_of(snapshot)}};
    add_events(json, snapshot);
    json["load"] = page::load_columns(or_fail(snapshot.store->telemetry()));
    json["failures"] = failures_of(snapshot);
    json["source"] = snapshot.study.source;
    json["git"] = git_state(snapshot.study);
    json["machine"] = machine();
    json["importance"] = importance_json(snapshot);  // last, as it reads steps into the snapshot
    return json;
}

int report_command(const ReportArguments& arguments) {
    std::signal(SIGXFSZ, SIG_IGN);
    const StudyFolder folder = choose_study(arguments.study);
    const std::string path = arguments.path.empty() ? folder.name() + ".html" : arguments.path;
    if (path == "-") {
        StudySnapshot snapshot = snapshot_or_fail(folder);
        print(page::with_study(document_of(snapshot)));
        return 0;
    }
    auto output = or_fail(OutputPath::at(path, OutputPath::Kind::file, arguments.force));
    StudySnapshot snapshot = snapshot_or_fail(folder);
    const std::string text = page::with_study(document_of(snapshot));
    auto file = or_fail(FileWriter::create(output.temporary(), output.path()));
    or_fail(file.write(text));
    or_fail(file.close(true));
    const auto aside = or_fail(output.finish());
    if (!aside.empty())
        std::fprintf(stderr, "hpo: the earlier file was moved to %s\n", printable(aside.string()).c_str());
    std::fprintf(stderr, "hpo: %zu trials of %s%s in %s (%s); open it in a browser\n", snapshot.record.trials.size(),
                 snapshot.study.name.c_str(), snapshot.holder ? ", which goes on," : "",
                 printable(output.path().string()).c_str(), bytes_text(static_cast<double>(text.size())).c_str());
    return 0;
}

}  // namespace

CommandAction report(CLI::App& app) {
    const auto arguments = std::make_shared<ReportArguments>();
    app.add_option("STUDY", arguments->study,
                   "A study's name, folder or YAML file; it may be running; default: the most recent one");
    app.add_option("-o,--output", arguments->path, "The file to write; - prints it; default: STUDY.html");
    app.add_flag("--force", arguments->force, "Replace an existing file, which is kept under another name");
    return [arguments] { return report_command(*arguments); };
}

}  // namespace hpo::commands
