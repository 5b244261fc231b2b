// The end of a command's output, as the reason why it failed.
#pragma once

#include <string>
#include <string_view>

namespace hpo::script {

/// Of a Python traceback the exception with all its lines, then the last frames; else the last line that is not empty.
/// At most 4000 bytes, without a newline at the end; empty for an empty output. Not made fit for a terminal.
std::string last_output(std::string_view output);

}  // namespace hpo::script
