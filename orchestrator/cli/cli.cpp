#include "orchestrator/cli/cli.hpp"

#include <signal.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/version.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/execution/warden.hpp"

namespace hpo {
namespace {

// clang-format off
constexpr std::array table{
    Command{"stop", "End a trial or a running study",
            "hpo stop 7                      trial 7 of the running study\n"
            "hpo stop phase1/7               trial 7 of phase1\n"
            "hpo stop phase1                 the study; hpo run goes on with it",
            commands::stop},
};
// clang-format on

constexpr int usage_error = 2;

std::string indent(std::string_view lines) {
    std::string text = "  ";
    for (char c : lines) {
        text += c;
        if (c == '\n') text += "  ";
    }
    return text;
}

bool known(std::string_view name) {
    return std::any_of(table.begin(), table.end(), [&](const Command& command) { return command.name == name; });
}

int parse_and_run(int argc, char** argv) {
    CLI::App app{"hpo: the best configuration for a training job, in the least time this machine can find it in",
                 "hpo"};
    app.set_version_flag("--version", std::string("hpo ") + version);
    app.set_help_flag("-h,--help", "Print this help and leave");
    app.require_subcommand(1);
    app.failure_message([](const CLI::App* at, const CLI::Error& error) {
        return std::string("hpo: ") + error.what() +
               "\nTry: " + (at->get_parent() ? "hpo " + at->get_name() : at->get_name()) + " --help\n";
    });
    std::string first_steps = "Examples:\n";
    std::vector<std::pair<CLI::App*, CommandAction>> declared;
    for (const Command& command : table) {
        CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
        sub->footer("Examples:\n" + indent(command.examples));
        declared.emplace_back(sub, command.declare(*sub));
        first_steps += "  " + std::string(command.examples.substr(0, command.examples.find('\n'))) + "\n";
    }
    app.footer(first_steps + "\nhpo COMMAND --help tells more of a command.");
    if (argc > 1 && argv[1][0] != '-' && !known(argv[1])) {
        std::fprintf(stderr, "hpo: no command '%s'\nTry: hpo --help\n", argv[1]);
        return usage_error;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& outcome) {
        if (outcome.get_exit_code() == 0) return app.exit(outcome);  // --help, --version
        const auto parsed = app.get_subcommands();
        (parsed.empty() ? app : *parsed.front()).exit(outcome);
        return usage_error;
    }
    for (const auto& [sub, action] : declared)
        if (sub->parsed()) return action();
    return usage_error;
}

}  // namespace

void print(std::string_view text) {
    ::signal(SIGPIPE, SIG_IGN);
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
    if (errno == EPIPE) throw Fatal("", 0);
    throw Fatal(std::string("cannot write: ") + std::strerror(errno));
}

int run_cli(int argc, char** argv) {
    // Before anything else: a warden starts in a millisecond or two and reads no options.
    if (argc > 1 && std::strcmp(argv[1], warden_word) == 0) return run_warden(argc, argv);
    try {
        return parse_and_run(argc, argv);
    } catch (const Fatal& fatal) {
        if (*fatal.what()) std::fprintf(stderr, "hpo: %s\n", fatal.what());
        return fatal.exit_code();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hpo: %s\n", error.what());
        return 1;
    }
}

}  // namespace hpo
