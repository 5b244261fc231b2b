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
#include "orchestrator/cli/study_choice.hpp"
#include "orchestrator/cli/study_look.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::commands {

CommandAction best(CLI::App& app) {
    struct Arguments {
        std::string study, format = "yaml";
    };
    const auto arguments = std::make_shared<Arguments>();
    app.add_option("STUDY", arguments->study, "A study's name, folder or YAML file; default: the one changed last");
    app.add_option(
           "--format", arguments->format,
           "yaml: a study file for hpo train and hpo run; json; args: --name=value words, quoted for eval; env: "
           "HPO_PARAM_NAME=value lines for eval, the variables that a script's trials see")
        ->check(CLI::IsMember({"yaml", "json", "args", "env"}))
        ->capture_default_str();
    return [arguments] {
        const StudyLook look = look_or_fail(choose_study(arguments->study));
        const TrialRecord* trial = view::best_trial(look.record, look.study.objective);
        if (!trial)
            throw Fatal("study " + look.study.name + " has no trial with a value of " + look.study.objective.metric +
                        " yet");
        print(best_config(look.study, *trial, arguments->format));
        return 0;
    };
}

}  // namespace hpo::commands
