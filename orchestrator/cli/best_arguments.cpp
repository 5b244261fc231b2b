#include "orchestrator/cli/best_arguments.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <memory>

#include "hpo/result.hpp"
#include "orchestrator/lookup/trial_choice.hpp"

namespace hpo {

std::function<BestArguments()> add_best_options(CLI::App& app) {
    const auto arguments = std::make_shared<BestArguments>();
    app.add_option(
        "STUDY", arguments->study,
        "A study's name, folder or YAML file, or STUDY/NUMBER for a trial of it; default: the most recent study, of "
        "several objectives its Pareto front as a table");
    app.add_option(
           "--format", arguments->format,
           "yaml, the default: a study file for hpo train and hpo run; json; table: the Pareto front of several "
           "objectives, the default on a terminal; args: --name=value arguments, quoted for eval; env: "
           "HPO_PARAM_NAME=value lines for eval, the variables that a trial's script receives")
        ->check(CLI::IsMember({"yaml", "json", "table", "args", "env"}));
    app.add_option("--by", arguments->by,
                   "value: the best value, of several seeds their mean; model: the value to expect of a further "
                   "training, by a model of all trainings: where these are noisy, the best value is a lucky one; with "
                   "--format table the best ones with their chances")
        ->check(CLI::IsMember({"value", "model"}))
        ->capture_default_str();
    const auto repeat =
        app.add_option("--repeat", arguments->repeat,
                       "Train each of the best trials again this many times, with new seeds (also for the data "
                       "split), in the study NAME-repeat, and rank them by their mean; if interrupted, the same "
                       "command resumes it")
            ->check(CLI::Range(1, 1000))
            ->excludes("--format");
    const auto top = app.add_option("--top", arguments->top,
                                    "The number of best trials to train again, or in the table of --by model")
                         ->check(CLI::Range(1, 1000))
                         ->capture_default_str();
    app.add_flag("--json", arguments->json, "With --repeat: one JSON object for programs")->needs(repeat);
    return [arguments, top] {
        arguments->top_given = top->count() > 0;
        return *arguments;
    };
}

void refuse_conflicts(const BestArguments& arguments, const TrialChoice& choice) {
    const bool by_model = arguments.by == "model";
    if (by_model && choice.trial) throw Fatal("--by model chooses the trial, and one is given", 2);
    if (arguments.repeat > 0 && choice.trial)
        throw Fatal("--repeat trains the best trials of a study again: name the study alone, and --top", 2);
    if (arguments.top_given && arguments.repeat == 0 && !(by_model && arguments.format == "table"))
        throw Fatal("--top goes with --repeat, or with --by model --format table", 2);
}

}  // namespace hpo
