// Reads how long the threads of a process tree have run, and have waited for a core (/proc/PID/task/TID/schedstat).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "orchestrator/scheduling/throughput_meter.hpp"

namespace hpo {

/// Returns the times of all living threads of the process and its descendants, or nothing if the process is gone or the
/// kernel does not tell (CONFIG_SCHED_INFO). `proc` is /proc.
std::optional<ThreadTime> thread_time_of_tree(std::int64_t pid, const std::filesystem::path& proc = "/proc");

}  // namespace hpo
