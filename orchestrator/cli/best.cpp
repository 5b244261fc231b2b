#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "hpo/random.hpp"
#include "hpo/result.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/cli/best_config.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/repeat.hpp"
#include "orchestrator/cli/study_choice.hpp"
#include "orchestrator/cli/study_snapshot.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::commands {

CommandAction best(CLI::App& app) {
    struct Arguments {
        std::string study, format = "yaml";
        std::int64_t repeat = 0, top = 5;
        bool json = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    app.add_option("STUDY", arguments->study, "A study's name, folder or YAML file; default: the most recent one");
    app.add_option(
           "--format", arguments->format,
           "yaml: a study file for hpo train and hpo run; json; args: --name=value arguments, quoted for eval; env: "
           "HPO_PARAM_NAME=value lines for eval, the variables that a script's trials see")
        ->check(CLI::IsMember({"yaml", "json", "args", "env"}))
        ->capture_default_str();
    const auto repeat =
        app.add_option("--repeat", arguments->repeat,
                       "Train the best again, so many times each, on fresh seeds (also of the data's split), in the "
                       "study NAME-repeat, and rank them by mean and spread; interrupted, the same command goes on")
            ->check(CLI::Range(1, 1000))
            ->excludes("--format");
    app.add_option("--top", arguments->top, "With --repeat: of so many trials")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str()
        ->needs(repeat);
    app.add_flag("--json", arguments->json, "With --repeat: one JSON object for programs")->needs(repeat);
    return [arguments] {
        const StudySnapshot snapshot = snapshot_or_fail(choose_study(arguments->study));
        if (arguments->repeat > 0) return repeat_best(snapshot, arguments->top, arguments->repeat, arguments->json);
        const TrialRecord* trial = view::best_trial(snapshot.record, snapshot.study.objective);
        if (!trial)
            throw Fatal("study " + snapshot.study.name + " has no trial with a value of " +
                        snapshot.study.objective.metric + " yet");
        print(best_config(snapshot.study, *trial, arguments->format));
        return 0;
    };
}

}  // namespace hpo::commands
