// hpo agent: runs trials on this host for a study that listens elsewhere.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "hpo/printable.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cluster/join_agent.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/study/fields.hpp"

namespace hpo::commands {

namespace {

constexpr double longest_wait = 8760 * 3600.;  ///< seconds

}  // namespace

CommandAction agent(CLI::App& app) {
    const auto file = std::make_shared<std::string>();
    app.add_option("--join", *file, "The join file of the study, in its folder")->required()->type_name("FILE");
    const auto wait = std::make_shared<std::string>();
    const auto option =
        app.add_option(
               "--wait", *wait,
               "How long to try while the join file is missing, or nobody answers yet at the address in it; default: "
               "30s")
            ->type_name("DURATION");
    app.footer(
        app.get_footer() +
        "\nThis host needs the same version of hpo, the study's folder under the same path, and its data or script.\n"
        "Ctrl-C or SIGTERM leaves the study: its trials go on elsewhere from their checkpoints.\n"
        "Exit codes: 0 the study ended or was interrupted, or this agent left it by Ctrl-C; 1 the orchestrator or "
        "this\n"
        "agent failed; 2 it cannot join; 130 interrupted before it had joined; 143 terminated, before or after it had "
        "joined.");
    return [file, wait, option] {
        if (option->count() == 0) return join_study(*file, installed_programs().hpo, {});
        const auto seconds = study::duration_of(*wait);
        if (!seconds) throw Fatal("--wait " + printable(*wait) + ": it takes a duration, such as 30s, 10m or 0s", 2);
        if (*seconds > longest_wait) throw Fatal("--wait " + printable(*wait) + ": it is more than a year (8760h)", 2);
        return join_study(*file, installed_programs().hpo, Seconds(*seconds));
    };
}

}  // namespace hpo::commands
