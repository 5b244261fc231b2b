// Converts commands of other tools to lists of arguments with placeholders.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::importing {

/// Escapes braces, so that `text` has no placeholders: {lr} becomes {{lr}}.
std::string without_placeholders(std::string_view text);

/// Splits a command line into arguments as a shell does, at blanks, with quotes and backslashes. Returns nothing if
/// only a shell can run it: if it has variables, pipes, redirections, patterns, several commands or an unclosed quote.
std::optional<std::vector<std::string>> split_shell_line(std::string_view line);

}  // namespace hpo::importing
