// macOS tells the time of each CPU and the memory in use. Energy, temperature, clock and stalls stay absent.
#include "orchestrator/telemetry/host_counters.hpp"

#include <mach/mach.h>
#include <mach/mach_time.h>
#include <unistd.h>

#include <algorithm>

#include "hpo/darwin_memory.hpp"
#include "orchestrator/devices/apple.hpp"
#include "orchestrator/devices/host.hpp"

namespace hpo {
namespace {

std::map<int, double> busy_seconds(std::span<const int> cpus) {
    static const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    std::map<int, double> busy;
    natural_t count = 0;
    processor_info_array_t loads = nullptr;
    mach_msg_type_number_t size = 0;
    const mach_port_t host = ::mach_host_self();
    const kern_return_t code = ::host_processor_info(host, PROCESSOR_CPU_LOAD_INFO, &count, &loads, &size);
    ::mach_port_deallocate(::mach_task_self(), host);
    if (code != KERN_SUCCESS) return busy;
    for (natural_t cpu = 0; cpu < count; ++cpu) {
        if (std::find(cpus.begin(), cpus.end(), static_cast<int>(cpu)) == cpus.end()) continue;
        const auto* of_cpu = reinterpret_cast<const unsigned*>(loads) + std::size_t{cpu} * CPU_STATE_MAX;
        busy[static_cast<int>(cpu)] =
            (0.0 + of_cpu[CPU_STATE_USER] + of_cpu[CPU_STATE_SYSTEM] + of_cpu[CPU_STATE_NICE]) / ticks;
    }
    ::vm_deallocate(::mach_task_self(), reinterpret_cast<vm_address_t>(loads), size * sizeof(integer_t));
    return busy;
}

}  // namespace

HostCounters read_host_counters(std::span<const int> cpus, double now, const std::filesystem::path&) {
    HostCounters counters;
    counters.seconds = now;
    counters.busy_seconds = busy_seconds(cpus);
    counters.memory = read_host().memory;
    counters.memory_used = std::max<std::int64_t>(0, counters.memory - available_memory());
    return counters;
}

double cpu_seconds(std::span<const std::int64_t> processes, const std::filesystem::path&) {
    static const auto base = [] {
        mach_timebase_info_data_t info{};
        ::mach_timebase_info(&info);
        return info;
    }();
    double seconds = 0;
    for (const std::int64_t pid : processes)
        if (const auto usage = darwin::usage_of(pid))
            seconds += mach_seconds(
                usage->ri_user_time + usage->ri_system_time + usage->ri_child_user_time + usage->ri_child_system_time,
                base.numer, base.denom);
    return seconds;
}

}  // namespace hpo
