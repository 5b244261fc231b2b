// Talks to the process that runs a study, over the control socket that its lock file names.
#pragma once

#include <string>

#include "hpo/result.hpp"

namespace hpo {

/// Sends one JSON line to the Unix socket `path` and returns the answer's line, without its newline. Fails when nobody
/// listens or no answer comes within `seconds`.
Result<std::string> ask(const std::string& path, const std::string& line, double seconds = 2);

}  // namespace hpo
