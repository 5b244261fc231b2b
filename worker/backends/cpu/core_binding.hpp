// Where the system runs the threads of the CPU backend. Linux binds them to cores (affinity). macOS takes no wishes for
// cores: threads with a high quality of service run on its performance cores first, and on the efficient ones too.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

namespace hpo {

/// Returns the cores that the calling thread may run on, ascending; on macOS, which binds none, all of them.
std::vector<int> own_cores();

/// Makes the calling thread, which helps another one, run on `cores`. If that fails (a core has gone), it runs on the
/// cores of the thread that has started it.
void run_on(std::span<const int> cores);

/// Makes the calling thread run on fast cores, where the system has several kinds.
void run_on_fast_cores();

/// Returns the time that the calling thread has waited for a core since it began, if the system tells.
std::optional<std::chrono::steady_clock::duration> time_in_queue();

}  // namespace hpo
