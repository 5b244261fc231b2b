// Commands of other tools as lists of arguments with placeholders.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::importing {

/// `text` as it stands, whatever braces it has: {lr} becomes {{lr}}.
std::string without_placeholders(std::string_view text);

/// The words of a command line as a shell cuts it: blanks, quotes, backslashes. Nothing where only a shell knows more:
/// variables, pipes, redirections, patterns, several commands, or quotes that are not closed.
std::optional<std::vector<std::string>> split_shell_line(std::string_view line);

}  // namespace hpo::importing
