#include "orchestrator/cli/run_arguments.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <memory>
#include <utility>

#include "hpo/result.hpp"
#include "hpo/shell_word.hpp"
#include "orchestrator/cluster/listen_at.hpp"

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

constexpr const char* listen_anywhere = "0.0.0.0:0";  ///< the address that --listen has without a value

/// Rejects `--trials --fresh`, which lacks the value of --trials. Returns the error, or an empty text.
std::string refuse_option_as_value(const std::string& value) {
    return value.empty() || value.starts_with("--") ? "a value is missing" : "";
}

/// Rejects `--listen study.yaml --trials 9` with its cure, before the study is found missing.
std::string refuse_listen_value(const std::string& value) {
    if (const auto at = cluster::parse_listen(value); !at) throw Fatal(at.error().message, 2);
    return {};
}

}  // namespace

std::function<RunArguments()> add_run_options(CLI::App& app) {
    const auto arguments = std::make_shared<RunArguments>();
    app.add_option("file", arguments->file, "The study file, or the name of a study that has run")->required();
    app.add_option("--trials", arguments->trials, "Trials in all (budget.trials)")->check(refuse_option_as_value);
    app.add_option("--time", arguments->time, "Time in all, as 90s, 30m or 2h (budget.time)")
        ->check(refuse_option_as_value);
    app.add_option("--backend", arguments->backend, "Device of trials (resources.backend): auto, cpu, cuda or opencl")
        ->check(refuse_option_as_value);
    app.add_option("-j,--jobs", arguments->jobs, "Trials at once (resources.parallel)")->check(refuse_option_as_value);
    app.add_option(
           "--on", arguments->on,
           "Where trials run: slurm (a job that is submitted, see resources.slurm; within a job, its nodes), "
           "ssh:HOST,HOST, local:2 (this machine twice, for tests), local, or join (only where hpo agent --join "
           "runs). Default: resources.hosts, else slurm in an allocation of several nodes, else local")
        ->check(refuse_option_as_value);
    const auto listen =
        app.add_option("--listen", arguments->listen,
                       "Let hpo agent --join FILE join from other hosts, at this address and port; default: all "
                       "addresses of this host, and a free port. FILE is runs/NAME/join.json. The study goes before "
                       "this option, or the value after an equals sign: --listen=ADDRESS:PORT")
            ->expected(0, 1)
            ->default_str(listen_anywhere)
            ->check(refuse_listen_value)
            ->type_name("[ADDRESS:PORT]");
    app.add_option("--seed", arguments->seed, "The study's seed (seed)")->check(refuse_option_as_value);
    app.add_option("--set", arguments->set, "Override one key: --set space.lr.high=0.1")
        ->take_all()
        ->type_name("KEY=VALUE");
    app.add_option("--notify", arguments->notify,
                   "Run this command at the end, on a new best and on trouble, with the facts as JSON on its stdin")
        ->check(refuse_option_as_value)
        ->type_name("COMMAND");
    app.add_flag("--fresh", arguments->fresh, "Start from scratch; the existing study is moved to runs/.old");
    app.add_flag("--dry-run", arguments->dry_run, "With --on slurm: print the job's script, and submit nothing");
    const auto json = app.add_flag("--json", arguments->json, "One JSON object per line, for programs");
    app.footer(
        app.get_footer() +
        "\nExit codes: 0 the study ended and at least one trial completed, or was stopped with a value;\n"
        "1 it failed, or no trial has a value; 2 usage; 130 interrupted; 143 terminated.\n"
        "SIGQUIT (kill -QUIT PID, or Ctrl-\\ in the terminal) prints what the session waits for, and does not end it.");
    app.add_flag("-q,--quiet", arguments->quiet, "Print only the best configuration, as YAML")->excludes(json);
    return [arguments, listen] {
        arguments->listens = listen->count() > 0;
        // An empty value is that of a shell's variable that is not set.
        if (arguments->listens && arguments->listen.empty())
            throw Fatal("--listen '': it is empty; leave the value out, or give an address or a port", 2);
        if (arguments->listen == listen_anywhere) arguments->listen.clear();
        return *arguments;
    };
}

Overrides overrides(const RunArguments& arguments) {
    Overrides all{arguments.set, {}, arguments.fresh};
    for (const KeyOption& option : key_options)
        if (const std::string& value = arguments.*option.value; !value.empty()) {
            all.set.push_back(std::string(option.key) + '=' + value);
            all.typed[all.set.back()] = std::string(option.option) + ' ' + value;
        }
    return all;
}

std::string option_words(const RunArguments& arguments) {
    std::string command;
    for (const std::string& assignment : arguments.set) command += " --set " + shell_word(assignment);
    for (const KeyOption& option : key_options)
        if (const std::string& value = arguments.*option.value; !value.empty())
            command += ' ' + std::string(option.option) + ' ' + shell_word(value);
    if (!arguments.on.empty()) command += " --on " + shell_word(arguments.on);
    if (arguments.listens)
        command += " --listen" + (arguments.listen.empty() ? "" : ' ' + shell_word(arguments.listen));
    if (!arguments.notify.empty()) command += " --notify " + shell_word(arguments.notify);
    return command.empty() ? command : command.substr(1);
}

std::string resume_arguments(const RunArguments& arguments) {
    const std::string options = option_words(arguments);
    return shell_word(arguments.file) + (options.empty() ? "" : " ") + options;
}

}  // namespace hpo
