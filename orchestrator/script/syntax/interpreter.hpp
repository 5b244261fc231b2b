// Recognises the Python interpreter in a command.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace hpo::script {

/// Returns the number of arguments that start the Python interpreter: the program and its options. The next argument is
/// the script, -m or -c. Returns nothing if the command does not start Python, or if the script depends on the trial.
std::optional<std::size_t> interpreter_arguments(const std::vector<std::string>& command);

}  // namespace hpo::script
