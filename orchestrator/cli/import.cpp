// hpo import: stores the trials of another tool's study as a study of hpo.
#include <CLI/App.hpp>
#include <algorithm>
#include <cctype>
#include <memory>
#include <string>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/import/optuna_database.hpp"
#include "orchestrator/import/store_imported.hpp"

namespace hpo::commands {
namespace {

struct ImportArguments {
    std::string file, study, name;
};

/// Returns the name with '-' in place of the characters that the name of a study of hpo may not have.
std::string name_of_imported(std::string name) {
    constexpr std::size_t most = 64;
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '-';
    name = name.substr(0, most);
    return is_study_name(name) ? name : "optuna-" + name.substr(0, most - 7);
}

int import_study(const ImportArguments& arguments) {
    const importing::OptunaStudy optuna = or_fail(importing::read_optuna(arguments.file, arguments.study));
    const std::string name = arguments.name.empty() ? name_of_imported(optuna.name) : arguments.name;
    if (!is_study_name(name))
        throw Fatal(
            "'" + printable(name) + "' is no name of a study: 1 to 64 of A-Z a-z 0-9 . _ -, no '.' or '-' first", 2);
    const auto imported = or_fail(importing::import_optuna(optuna, name, arguments.file));
    const StudyFolder folder = study_folder(name);
    or_fail(importing::store_imported(imported, folder));
    print(counted(imported.study.budget.trials, "trial") + " of study '" + printable(optuna.name) + "' are stored in " +
          printable(folder.path.string()) + '\n');
    for (const std::string& remark : imported.remarks) print("  " + printable(remark) + '\n');
    print("\nLook at it    hpo show " + name + ", hpo top " + name + ", hpo report " + name +
          "\nLearn from it warm_start: [" + name + "] in a study file\nGo on         in Python: hpo.Study(\"" + name +
          "\", trials=" + std::to_string(2 * imported.study.budget.trials) + ")\n");
    return 0;
}

}  // namespace

CommandAction import_trials(CLI::App& app) {
    const auto arguments = std::make_shared<ImportArguments>();
    app.add_option("file", arguments->file, "A database or a journal of Optuna, which is only read")->required();
    app.add_option("--study", arguments->study, "The study in it; default: the only one");
    app.add_option("--name", arguments->name, "The name of the study of hpo; default: that of Optuna");
    return [arguments] { return import_study(*arguments); };
}

}  // namespace hpo::commands
