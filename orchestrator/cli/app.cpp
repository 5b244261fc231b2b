#include "orchestrator/cli/app.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "hpo/printable.hpp"
#include "hpo/version.hpp"
#include "orchestrator/study/diagnostics.hpp"

namespace hpo {

std::string indent(std::string_view lines) {
    std::string text = "  ";
    for (char c : lines) {
        text += c;
        if (c == '\n') text += "  ";
    }
    return text;
}

DeclaredCommands declare_commands(CLI::App& app) {
    app.name("hpo");
    app.description("hpo: the best configuration for a training job, in the least time this machine can find it in");
    app.set_version_flag("--version", std::string("hpo ") + version, "Print the version and exit");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.require_subcommand(1);
    app.failure_message([](const CLI::App* at, const CLI::Error& error) {
        return "hpo: " + printable(error.what(), true) +
               "\nTry: " + (at->get_parent() ? "hpo " + at->get_name() : at->get_name()) + " --help\n";
    });
    std::string first_steps = "Examples:\n";
    DeclaredCommands declared;
    for (const Command& command : command_table()) {
        CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
        sub->footer("Examples:\n" + indent(command.examples));
        declared.emplace_back(sub, command.declare(*sub));
        first_steps += "  " + std::string(command.examples.substr(0, command.examples.find('\n'))) + "\n";
    }
    app.footer(first_steps + "\nhpo COMMAND --help describes a command.");
    return declared;
}

const CLI::App* find_command(const CLI::App& program, const std::string& name) {
    for (const CLI::App* command : program.get_subcommands({}))
        if (command->get_name() == name) return command;
    return nullptr;
}

std::string unknown_command(const std::string& name) {
    std::vector<std::string_view> names;
    for (const Command& command : command_table()) names.push_back(command.name);
    return "no command '" + printable(name) + "'" + study::suggestion(name, names);
}

}  // namespace hpo
