// hpo agent: runs trials on this host for a study that listens elsewhere.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cluster/join_agent.hpp"
#include "orchestrator/engine/workers.hpp"

namespace hpo::commands {

CommandAction agent(CLI::App& app) {
    const auto file = std::make_shared<std::string>();
    app.add_option("--join", *file, "The join file of the study, in its folder")->required()->type_name("FILE");
    app.footer(
        app.get_footer() +
        "\nThis host needs the same version of hpo, the study's folder under the same path, and its data or script.\n"
        "Ctrl-C or SIGTERM leaves the study: its trials go on elsewhere from their checkpoints.\n"
        "Exit codes: 0 the study ended, or this agent left it; 1 the orchestrator or this agent failed; 2 it cannot "
        "join;\n"
        "130 interrupted or 143 terminated before it had joined.");
    return [file] { return join_study(*file, installed_programs().hpo); };
}

}  // namespace hpo::commands
