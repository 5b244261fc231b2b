#include "worker/backends/cpu/core_binding.hpp"

#include <cstdint>
#include <fstream>

#include "os/process.hpp"

namespace hpo {

std::vector<int> own_cores() { return os::allowed_cores(); }

void run_on(std::span<const int> cores) { os::bind_to_cores(cores); }

void run_on_fast_cores() {}

std::optional<std::chrono::steady_clock::duration> time_in_queue() {
    std::ifstream file("/proc/thread-self/schedstat");
    std::int64_t running = 0, waiting = 0;
    if (!(file >> running >> waiting)) return std::nullopt;
    return std::chrono::nanoseconds(waiting);
}

}  // namespace hpo
