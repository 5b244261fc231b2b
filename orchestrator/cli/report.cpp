// hpo report: writes a page about a study.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/step_name.hpp"
#include "hpo/units.hpp"
#include "hpo/version.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/cli/best_config.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/importance.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/output/output_path.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/page/columns.hpp"
#include "orchestrator/page/git_state.hpp"
#include "orchestrator/page/page.hpp"
#include "orchestrator/page/study_parts.hpp"
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

Json document_of(StudySnapshot& snapshot) {
    Json json{{"schema", json_schema},
              {"version", version},
              {"study", study_json(snapshot)},
              {"answer", answer_of(snapshot)},
              {"space", page::space_columns(snapshot.study)},
              {"trials", page::trial_columns(snapshot.study, snapshot.record)},
              {"curves", page::curves_of(snapshot)}};
    page::add_events(json, snapshot);
    json["load"] = page::load_columns(or_fail(snapshot.store->telemetry()));
    json["failures"] = page::failures_of(snapshot);
    json["source"] = snapshot.study.source;
    json["git"] = page::git_state(snapshot.study);
    json["machine"] = page::machine();
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
