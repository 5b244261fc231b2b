// Extracts from a command's output the reason why it failed.
#pragma once

#include <string>
#include <string_view>

namespace hpo::script {

/// Returns the reason in at most 4000 bytes, without a newline at the end. For a Python traceback it is the exception's
/// message, then the last frames; otherwise it is the last line that is not empty. Returns an empty text for an empty
/// output. The result may contain control characters.
std::string last_output(std::string_view output);

}  // namespace hpo::script
