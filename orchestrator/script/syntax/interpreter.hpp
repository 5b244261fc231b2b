// Recognises the Python interpreter in a command.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace hpo::script {

/// Returns how many arguments start the Python interpreter, with its options; the next one is the script, -m or -c.
/// Returns nothing if the command does not start Python, or not the same script for all trials.
std::optional<std::size_t> interpreter_arguments(const std::vector<std::string>& command);

}  // namespace hpo::script
