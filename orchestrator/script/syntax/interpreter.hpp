// The Python interpreter of a command.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace hpo::script {

/// How many words of the command start the Python interpreter, with its options; the next one is the script, -m or -c.
/// Nothing: the command is none of Python's, or which script it runs is not the same for all trials.
std::optional<std::size_t> interpreter_arguments(const std::vector<std::string>& command);

}  // namespace hpo::script
