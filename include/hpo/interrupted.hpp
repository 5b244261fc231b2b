// What a signal has asked of this process, for code that may be held up when it comes: by a reader that does not read,
// by a lock that others hold.
#pragma once

#include <atomic>

namespace hpo {

/// The first signal that asked for the end; 0: none. Set by a signal's handler (orchestrator/execution/interrupts.hpp).
inline std::atomic<int> interrupted_by{0};
static_assert(std::atomic<int>::is_always_lock_free);

/// The exit status of a program that this signal has ended.
constexpr int exit_status_of(int signal) { return signal == 2 ? 130 : 143; }

}  // namespace hpo
