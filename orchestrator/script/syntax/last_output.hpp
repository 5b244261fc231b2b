// Extracts from a command's output the reason why it failed.
#pragma once

#include <string>
#include <string_view>

namespace hpo::script {

/// Returns for a Python traceback all lines of the exception, then the last frames; otherwise the last line that is not
/// empty. At most 4000 bytes, without a newline at the end; empty for an empty output. It may contain control
/// characters.
std::string last_output(std::string_view output);

}  // namespace hpo::script
