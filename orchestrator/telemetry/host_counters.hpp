// Reads the host's counters and sensors: CPU time, memory, energy, temperature, clock, throttling and pressure stall
// information. Each is optional: virtual machines and containers hide most of them, and macOS tells CPU time and memory
// alone.
//
// Documents: proc(5); the kernel's Documentation/accounting/psi.rst, power/powercap/powercap.rst,
// hwmon/sysfs-interface.rst and admin-guide/cgroup-v2.rst.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hpo {

/// The energy counter of one power domain. It wraps around to 0 after `range`.
struct EnergyCounter {
    double joules = 0;
    double range = 0;  ///< in joules; 0 if unknown
};

/// The values at one moment. Counters only grow. The difference of two readings gives a rate (rates.hpp).
struct HostCounters {
    double seconds = 0;                    ///< monotonic time of the reading
    std::map<int, double> busy_seconds{};  ///< by CPU: time in processes and interrupts, excluding waiting for I/O
    std::int64_t memory = 0;               ///< installed memory or the control group's limit, in bytes
    std::int64_t memory_used = 0;          ///< used part of `memory`, in bytes
    std::map<std::string, EnergyCounter> energy{};  ///< by processor package
    std::optional<double> temperature{};            ///< of the hottest CPU sensor, in degrees Celsius
    std::optional<double> clock{};                  ///< mean over the CPUs, in MHz
    std::optional<double> throttled_seconds{};      ///< time in which the control group's quota held processes back
    std::optional<double> cpu_stall_seconds{};      ///< time in which some process waited for a CPU
    std::optional<double> memory_stall_seconds{};   ///< time in which some process waited for memory
    std::optional<double> io_stall_seconds{};       ///< time in which some process waited for I/O
};

/// Reads the counters that this machine provides. Only the time and clock of `cpus` are read. `root` is the folder that
/// contains /proc and /sys.
HostCounters read_host_counters(std::span<const int> cpus, double now, const std::filesystem::path& root = "/");

/// Returns the CPU time in seconds that the processes have used so far, including children that they have waited for.
/// Processes that no longer exist are ignored.
double cpu_seconds(std::span<const std::int64_t> processes, const std::filesystem::path& root = "/");

}  // namespace hpo
