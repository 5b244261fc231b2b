#include "orchestrator/cli/command_line.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/printable.hpp"
#include "orchestrator/cli/app.hpp"
#include "orchestrator/study/diagnostics.hpp"

namespace hpo {
namespace {

constexpr int usage_error = 2;

bool is_command(std::string_view name) {
    return std::ranges::any_of(command_table(), [&](const Command& command) { return command.name == name; });
}

/// Returns a message about the first option that the command does not have. Returns an empty text if it has all
/// options; the usage error must have another cause then.
std::string unknown_option(const CLI::App& app, int argc, char** argv, int first) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (int i = first; i < argc && std::string_view(argv[i]) != "--"; ++i) {
        const std::string word = std::string(argv[i]).substr(0, std::string_view(argv[i]).find('='));
        if (!word.starts_with("--") || std::find(names.begin(), names.end(), word) != names.end()) continue;
        return "no option '" + printable(word) + "'" + study::suggestion(word, {names.begin(), names.end()});
    }
    return {};
}

std::string name_of(const CLI::Option& option) {
    return (option.get_lnames().empty() ? "" : "--") + option.get_single_name();
}

/// Returns a message about an argument that the command lacks or does not take. Returns an empty text for other errors.
std::string wrong_arguments(const CLI::App& command, const CLI::ParseError& outcome) {
    if (outcome.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError))
        for (const CLI::Option* option : command.get_options())
            if (option->get_required() && option->count() == 0)
                return command.get_name() + " needs " + name_of(*option) + ": " + option->get_description();
    const auto extra = command.get_parent()->remaining(true);
    if (outcome.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && !extra.empty())
        return command.get_name() + " has one argument too many: '" + printable(extra.front()) + "'";
    return {};
}

/// Returns the arguments, where `--listen=` is `--listen` and an empty value: the parser takes an option with an equals
/// sign and nothing behind it for one without a value. Arguments behind `--` are those of a program.
std::vector<std::string> with_empty_values(const DeclaredCommands& declared, int argc, char** argv) {
    std::vector<std::string> all(argv + 1, argv + argc);
    const auto command =
        std::ranges::find_if(declared, [&](const auto& one) { return one.first->get_name() == argv[1]; });
    if (command == declared.end()) return all;
    for (auto word = all.begin(); word != all.end() && *word != "--"; ++word) {
        if (!word->starts_with("--") || word->find('=') + 1 != word->size()) continue;
        const CLI::Option* option = command->first->get_option_no_throw(word->substr(0, word->size() - 1));
        if (option == nullptr || option->get_expected_max() == 0) continue;
        word->pop_back();
        word = all.insert(word + 1, "");
    }
    return all;
}

}  // namespace

int parse_and_run(int argc, char** argv) {
    CLI::App app;
    const DeclaredCommands declared = declare_commands(app);
    if (argc > 1 && argv[1][0] != '-' && !is_command(argv[1])) {
        std::fprintf(stderr, "hpo: %s\nTry: hpo --help\n", unknown_command(argv[1]).c_str());
        return usage_error;
    }
    try {
        std::vector<std::string> words = with_empty_values(declared, argc, argv);
        std::reverse(words.begin(), words.end());  // as the parser takes them
        app.parse(std::move(words));
    } catch (const CLI::ParseError& outcome) {
        if (outcome.get_exit_code() == 0) return app.exit(outcome);  // --help, --version
        const auto parsed = app.get_subcommands();
        const CLI::App& command = parsed.empty() ? app : *parsed.front();
        std::string message = unknown_option(command, argc, argv, parsed.empty() ? 1 : 2);
        if (message.empty() && !parsed.empty()) message = wrong_arguments(command, outcome);
        if (!message.empty())
            std::fprintf(stderr, "hpo: %s\nTry: hpo %s--help\n", message.c_str(),
                         parsed.empty() ? "" : (command.get_name() + ' ').c_str());
        else
            command.exit(outcome);
        return usage_error;
    }
    for (const auto& [sub, action] : declared)
        if (sub->parsed()) return action();
    return usage_error;
}

}  // namespace hpo
