// The signal that has interrupted this process, for code that may be blocked when it arrives: by a reader that has
// stopped reading, or by a lock of another process.
#pragma once

#include <atomic>

namespace hpo {

/// The first signal that asked the process to end, or 0 if none has. A signal handler sets it
/// (orchestrator/execution/interrupts.hpp).
inline std::atomic<int> interrupted_by{0};
static_assert(std::atomic<int>::is_always_lock_free);

/// True once an interrupted process has given up waiting for a lock on a study's database, without which it cannot
/// store how it ended.
inline std::atomic<bool> lock_given_up{false};

/// True once a batch system has said that it will soon end this process (orchestrator/slurm/allocation.hpp).
inline std::atomic<bool> limit_is_near{false};

/// The reason of a session's end near the time limit.
inline constexpr const char* limit_reason = "the time limit of the job is near";

/// Returns the exit status of a program that this signal has ended.
constexpr int exit_status_of(int signal) { return signal == 2 ? 130 : 143; }

/// Returns the exit status of a program that has failed: that of the signal if it was interrupted and gave up a lock
/// then, else 1.
inline int exit_status_of_failure() {
    return lock_given_up && interrupted_by != 0 ? exit_status_of(interrupted_by) : 1;
}

}  // namespace hpo
