// Builds the command line from the table of commands. Help, completion and man pages are all made from it.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/cli/commands.hpp"

namespace hpo {

/// The subcommand of each command, with its action.
using DeclaredCommands = std::vector<std::pair<CLI::App*, CommandAction>>;

/// Returns all commands in the order of --help.
std::span<const Command> command_table();

/// Declares the program's options and its commands in `app`, which must outlive the actions.
DeclaredCommands declare_commands(CLI::App& app);

/// Returns the subcommand with this name, or nullptr.
const CLI::App* find_command(const CLI::App& program, const std::string& name);

/// Returns "no command 'stpo'; did you mean 'stop'?".
std::string unknown_command(const std::string& name);

/// Returns the lines with two blanks before each.
std::string indent(std::string_view lines);

}  // namespace hpo
