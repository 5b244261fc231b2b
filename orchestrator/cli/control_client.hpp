// Sends requests to the process that runs a study, over the control socket that its lock file names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/result.hpp"
#include "orchestrator/store/holder_lock.hpp"

namespace hpo {

/// Sends one JSON line to the Unix socket `path` and returns the line that answers it, without its newline. Fails if no
/// process listens there, or if no answer arrives within `seconds`.
Result<std::string> ask(const std::string& path, const std::string& line, double seconds = 2);

/// Asks the process that holds the study to stop `trial`, or the whole study if `trial` is absent. The Error says why
/// the holder refused, or why it could not be reached.
Result<void> ask_to_stop(const Holder& holder, std::optional<std::int64_t> trial);

}  // namespace hpo
