#include "orchestrator/cli/run_arguments.hpp"

#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "hpo/result.hpp"
#include "hpo/shell_word.hpp"
#include "orchestrator/cli/run_slurm.hpp"
#include "orchestrator/cluster/agent.hpp"

namespace hpo {

namespace {

/// An option that sets one key of the study.
struct KeyOption {
    const char* option;
    const char* key;
    std::string RunArguments::*value;
};
constexpr std::array key_options{KeyOption{"--trials", "budget.trials", &RunArguments::trials},
                                 KeyOption{"--time", "budget.time", &RunArguments::time},
                                 KeyOption{"--jobs", "resources.parallel", &RunArguments::jobs},
                                 KeyOption{"--backend", "resources.backend", &RunArguments::backend},
                                 KeyOption{"--seed", "seed", &RunArguments::seed}};

}  // namespace

Overrides overrides(const RunArguments& arguments) {
    Overrides all{arguments.set, {}, arguments.fresh};
    for (const KeyOption& option : key_options)
        if (const std::string& value = arguments.*option.value; !value.empty()) {
            all.set.push_back(std::string(option.key) + '=' + value);
            all.typed[all.set.back()] = std::string(option.option) + ' ' + value;
        }
    return all;
}

std::optional<cluster::ListenAt> listen_of(const RunArguments& arguments) {
    if (!arguments.listens && arguments.on != "join") return std::nullopt;
    if (runs_in_a_job(arguments))
        throw Fatal("--listen opens a port where the study runs: give it to hpo run within the job of --on slurm", 2);
    auto at = cluster::parse_listen(arguments.listen);
    if (!at) throw Fatal(at.error().message, 2);
    return *at;
}

std::vector<cluster::Address> hosts_of(const RunArguments& arguments, const Study& study, const Programs& programs) {
    const auto environment = [](const char* name) -> std::optional<std::string> {
        const char* value = std::getenv(name);
        return value ? std::optional<std::string>(value) : std::nullopt;
    };
    std::string on = arguments.on;
    for (const std::string& host : arguments.on.empty() ? study.resources.hosts : std::vector<std::string>())
        on += (on.empty() ? "ssh:" : ",") + host;
    if (on.empty() && cluster::in_allocation_of_several(environment)) on = "slurm";
    if (on == "join") return {};
    if (on.empty() || on == "local")
        return arguments.listens ? std::vector<cluster::Address>{{"local", {programs.hpo.string(), agent_command}}}
                                 : std::vector<cluster::Address>();
    auto hosts = cluster::addresses_of(on, programs.hpo, environment);
    if (!hosts) throw Fatal(hosts.error().message, 2);
    return *std::move(hosts);
}

std::string option_words(const RunArguments& arguments, bool keep_time) {
    std::string command;
    for (const std::string& assignment : arguments.set) command += " --set " + shell_word(assignment);
    for (const KeyOption& option : key_options)
        if (const std::string& value = arguments.*option.value;
            !value.empty() && (keep_time || option.value != &RunArguments::time))
            command += ' ' + std::string(option.option) + ' ' + shell_word(value);
    if (!arguments.on.empty()) command += " --on " + shell_word(arguments.on);
    if (arguments.listens)
        command += " --listen" + (arguments.listen.empty() ? "" : ' ' + shell_word(arguments.listen));
    if (!arguments.notify.empty()) command += " --notify " + shell_word(arguments.notify);
    return command.empty() ? command : command.substr(1);
}

std::string resume_arguments(const RunArguments& arguments, bool keep_time) {
    const std::string options = option_words(arguments, keep_time);
    return shell_word(arguments.file) + (options.empty() ? "" : " ") + options;
}

}  // namespace hpo
