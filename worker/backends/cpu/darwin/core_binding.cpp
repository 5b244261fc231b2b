#include "worker/backends/cpu/core_binding.hpp"

#include <pthread.h>
#include <pthread/qos.h>
#include <sys/sysctl.h>

#include <cstddef>

#include <numeric>

namespace hpo {

std::vector<int> own_cores() {
    int count = 0;
    std::size_t size = sizeof count;
    if (::sysctlbyname("hw.logicalcpu", &count, &size, nullptr, 0) != 0 || count < 1) return {};
    std::vector<int> cores(static_cast<std::size_t>(count));
    std::iota(cores.begin(), cores.end(), 0);
    return cores;
}

void run_on(std::span<const int>) { run_on_fast_cores(); }

void run_on_fast_cores() { (void)::pthread_set_qos_class_self_np(QOS_CLASS_USER_INITIATED, 0); }

std::optional<std::chrono::steady_clock::duration> time_in_queue() { return std::nullopt; }

}  // namespace hpo
