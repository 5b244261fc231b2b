// Talks to the process that runs a study, over the control socket that its lock file names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/result.hpp"
#include "orchestrator/store/holder_lock.hpp"

namespace hpo {

/// Sends one JSON line to the Unix socket `path` and returns the answer's line, without its newline. Fails when nobody
/// listens or no answer comes within `seconds`.
Result<std::string> ask(const std::string& path, const std::string& line, double seconds = 2);

/// Asks the holder to stop one trial, or the study. The Error is the holder's answer, or why there is none.
Result<void> ask_to_stop(const Holder& holder, std::optional<std::int64_t> trial);

}  // namespace hpo
