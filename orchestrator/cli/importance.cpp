// hpo importance: shows which parameters matter and how certain the best trial is.
#include "orchestrator/analysis/importance.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "orchestrator/cli/commands.hpp"
#include "orchestrator/insights/importance_json.hpp"
#include "orchestrator/insights/insights.hpp"
#include "orchestrator/lookup/study_choice.hpp"

namespace hpo {

namespace commands {
namespace {

struct ImportanceArguments {
    std::string study;
    bool json = false;
};

int run_importance(const ImportanceArguments& arguments) {
    StudySnapshot snapshot = snapshot_or_fail(choose_study(arguments.study), TrialParts::without_parameters);
    if (arguments.json) {
        print(importance_json(snapshot).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
        return 0;
    }
    print(analysis::whole_text(snapshot.study, whole_importance_of(snapshot)));
    return 0;
}

}  // namespace

CommandAction importance(CLI::App& app) {
    const auto arguments = std::make_shared<ImportanceArguments>();
    app.add_option("STUDY", arguments->study, "A study's name, folder or YAML file; default: the most recent one");
    app.add_flag("--json", arguments->json, "One JSON object for programs");
    return [arguments] { return run_importance(*arguments); };
}

}  // namespace commands
}  // namespace hpo
