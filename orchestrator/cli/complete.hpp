// The command that the shells' completion calls, and the text of hpo without a command.
#pragma once

#include <string>
#include <vector>

namespace hpo {

/// Called by the scripts of hpo completion: hpo __complete WORDS...
inline constexpr const char* complete_command = "__complete";

/// Prints the candidates for the last word, one per line, with a tab and its meaning. Never fails: a shell that waits
/// for candidates has no place for errors.
int run_complete(const std::vector<std::string>& words);

/// Prints the studies of runs/ and the commands that are of use now.
int print_overview();

}  // namespace hpo
