#include <CLI/App.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/notes.hpp"
#include "orchestrator/cli/show.hpp"
#include "orchestrator/cli/top_reading.hpp"
#include "orchestrator/cli/trial_files.hpp"
#include "orchestrator/insights/insights.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/lookup/trial_choice.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/view/detail.hpp"
#include "orchestrator/view/pools.hpp"
#include "orchestrator/view/report.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo {

using Json = nlohmann::ordered_json;

namespace {

/// Returns the predicted and the measured duration of a step of the last attempt.
Json predicted_step_json(const TrialRecord& trial) {
    const StepForecast& forecast = trial.allocation->forecast;
    if (forecast.device.empty()) return nullptr;
    const auto measured = measured_step(trial);
    return {{"device", forecast.device},
            {"seconds", forecast.seconds()},
            {"factor", forecast.factor},
            {"factor_trials", forecast.trials},
            {"measured", measured ? Json(*measured) : Json(nullptr)},
            {"why", forecast.why.empty() ? Json(nullptr) : Json(forecast.why)}};
}

}  // namespace

Json shown_trial(StudySnapshot& snapshot, std::int64_t number) {
    or_fail(snapshot.read_parameters(snapshot.trial(number).number));
    const TrialRecord trial = or_fail(snapshot.whole(snapshot.trial(number)));
    Json json{{"schema", json_schema}, {"study", snapshot.study.name}};
    json.update(whole_trial_json(snapshot.study, trial));
    json["predicted_step"] = predicted_step_json(trial);
    add_remarks(json, or_fail(read_notes(snapshot.folder)).of(number));
    return json;
}

}  // namespace hpo

namespace hpo::commands {
namespace {

struct ShowArguments {
    std::string first, second;
    bool json = false;
};

/// Prints the report of `hpo run`, the details of stopping, and the findings of `hpo importance`, of a large study from
/// fewer trials.
int show_study(StudySnapshot snapshot, bool json) {
    if (json)
        throw Fatal("for programs: hpo ls " + snapshot.study.name + " --json, hpo importance " + snapshot.study.name +
                        " --json",
                    2);
    Insights insights = insights_at_once(snapshot);
    const view::Moment moment = moment_now(snapshot);
    for (const view::Pool& pool : moment.pools)
        if (!pool.state.empty() && pool.name.find(" gpu ") == std::string::npos)
            for (std::string& line : labelled_lines("Host", pool.name + (pool.state == "left" ? " has " : " is ") +
                                                                view::state_text(pool.state, pool.reason)))
                insights.lines.push_back(std::move(line));
    if (!moment.waits.empty())
        for (std::string& line : labelled_lines("Waits", moment.waits)) insights.lines.push_back(std::move(line));
    const view::ReportFacts facts{snapshot.folder.path.string(), snapshot.holder ? "running" : "", false, "",
                                  insights.lines};
    print(view::draw_report(snapshot.study, snapshot.record, moment, facts, view::screen_of_stdout()) +
          view::savings_text(snapshot.study, snapshot.record));
    for (const std::string& line : insights.stopping) print("  " + printable(line) + '\n');
    print('\n' + insights.whole);
    const std::string remarks = remarks_text(or_fail(read_notes(snapshot.folder)).study);
    if (!remarks.empty()) print('\n' + remarks);
    return 0;
}

int run_show(const ShowArguments& arguments) {
    // The forms are: hpo show STUDY TRIAL, hpo show TRIAL, hpo show STUDY/TRIAL, hpo show STUDY.
    const auto chosen = arguments.second.empty() ? split_trial(arguments.first, "", false)
                                                 : split_trial(arguments.second, arguments.first, true);
    StudySnapshot snapshot = snapshot_or_fail(choose_study(chosen.study), TrialParts::without_parameters);
    if (!chosen.trial) return show_study(std::move(snapshot), arguments.json);
    if (arguments.json) {
        print(shown_trial(snapshot, *chosen.trial).dump(2, ' ', false, Json::error_handler_t::replace) + '\n');
        return 0;
    }
    const TrialRecord& trial = snapshot.trial(*chosen.trial);
    if (const auto read = snapshot.read_parameters(trial.number); !read) throw Fatal(read.error().message);
    if (const auto read = snapshot.read_steps(trial.number); !read) throw Fatal(read.error().message);
    view::Screen screen = view::screen_of_stdout();
    screen.height = 0;
    print(view::draw_trial(snapshot.study, trial, files_of(snapshot.folder, trial.number), screen));
    return 0;
}

}  // namespace

CommandAction show(CLI::App& app) {
    const auto arguments = std::make_shared<ShowArguments>();
    app.add_option("WHAT", arguments->first, "A trial's number, STUDY/TRIAL, a study followed by a number, or a study")
        ->required();
    app.add_option("TRIAL", arguments->second, "The trial's number, if WHAT is a study");
    app.add_flag("--json", arguments->json, "One JSON object for programs");
    return [arguments] { return run_show(*arguments); };
}

}  // namespace hpo::commands
