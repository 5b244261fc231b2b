// Reads the host's counters and sensors: CPU time, memory, energy, temperature, clock, throttling and pressure stall
// information. Each is optional: virtual machines and containers hide most of them. Linux only.
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

/// Energy of one power domain. It starts again from 0 after `range`.
struct EnergyCounter {
    double joules = 0;
    double range = 0;  ///< 0 if not known
};

/// Values as of one moment. Counters grow; what is read from two of them is a rate (rates.hpp).
struct HostCounters {
    double seconds = 0;                    ///< monotonic time of the reading
    std::map<int, double> busy_seconds{};  ///< by CPU: time in any process or interrupt, without waiting for I/O
    std::int64_t memory = 0;               ///< installed or allowed, in bytes
    std::int64_t memory_used = 0;          ///< of that, in bytes
    std::map<std::string, EnergyCounter> energy{};  ///< by processor package
    std::optional<double> temperature{};            ///< of the hottest CPU sensor, in degrees Celsius
    std::optional<double> clock{};                  ///< mean over the CPUs, in MHz
    std::optional<double> throttled_seconds{};      ///< time in which the control group's quota held processes back
    std::optional<double> cpu_stall_seconds{};      ///< time in which some process waited for a CPU,
    std::optional<double> memory_stall_seconds{};   ///< for memory,
    std::optional<double> io_stall_seconds{};       ///< for I/O
};

/// Reads what this machine offers. `cpus` are those whose time and clock count. `root` is prepended to /proc and /sys.
HostCounters read_host_counters(std::span<const int> cpus, double now, const std::filesystem::path& root = "/");

/// Returns the CPU time in seconds that the processes have used so far, with the children that they have waited for.
/// Processes that are gone are left out.
double cpu_seconds(std::span<const std::int64_t> processes, const std::filesystem::path& root = "/");

}  // namespace hpo
