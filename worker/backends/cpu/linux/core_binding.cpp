#include "worker/backends/cpu/core_binding.hpp"

#include <pthread.h>
#include <sched.h>

#include <cstdint>
#include <fstream>

namespace hpo {

std::vector<int> own_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cores;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &set)) cores.push_back(core);
    return cores;
}

/// If it fails (a core has gone), the thread runs on the cores of the one that has started it.
void run_on(std::span<const int> cores) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores)
        if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

void run_on_fast_cores() {}

std::optional<std::chrono::steady_clock::duration> time_in_queue() {
    std::ifstream file("/proc/thread-self/schedstat");
    std::int64_t running = 0, waiting = 0;
    if (!(file >> running >> waiting)) return std::nullopt;
    return std::chrono::nanoseconds(waiting);
}

}  // namespace hpo
