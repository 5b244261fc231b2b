// Converts commands of other tools to lists of arguments with placeholders.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::importing {

/// Escapes braces, so that `text` has no placeholders: {lr} becomes {{lr}}.
std::string without_placeholders(std::string_view text);

/// Splits a command line into arguments like a shell, by blanks, quotes and backslashes. Returns nothing if that needs
/// a shell: for variables, pipes, redirections, patterns, several commands, or quotes that are not closed.
std::optional<std::vector<std::string>> split_shell_line(std::string_view line);

}  // namespace hpo::importing
