// The part of the machine that this process may use: cores, host memory, name. linux/ reads /proc, the affinity mask
// and the control group; darwin/ asks macOS, for which apple.hpp decides.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace hpo {

/// Cores of one speed: "Performance", "Efficiency".
struct CoreKind {
    std::string name;
    int cores = 0;

    friend bool operator==(const CoreKind&, const CoreKind&) = default;
};

struct Host {
    std::vector<int> cpus;    ///< CPUs of the affinity mask, ascending; never empty
    double cores = 1;         ///< the number that the control group's quota allows; at least 1
    std::int64_t memory = 0;  ///< the most bytes available: installed memory, or the control group's limit
    /// Processes and threads that the control group still allows (pids.max); absent if there is no limit.
    std::optional<std::int64_t> processes;
    std::string cpu_name;         ///< "AMD EPYC 9B14"; "unknown CPU" where the kernel does not name it
    std::vector<CoreKind> kinds;  ///< the fastest first; empty where all cores are alike, and on Linux
};

/// Reads the machine. Here and below, `root` is prepended to /proc and /sys, so that tests can use their own; macOS has
/// neither.
Host read_host(const std::filesystem::path& root = "/");

/// Returns the folders of this process's control group and of the groups around it, the innermost first: each of them
/// may set a limit. `controller` is "cpu", "memory" or "pids".
std::vector<std::filesystem::path> control_groups(const std::filesystem::path& root, const std::string& controller);

/// Returns the control groups that limit this process's memory to less than the installed memory. Most machines have
/// none. Finding them takes longer than reading how much memory is free.
std::vector<std::filesystem::path> memory_groups(const std::filesystem::path& root = "/");

/// Returns the bytes that could be allocated now without swapping: MemAvailable, or the memory left to one of `groups`
/// if that is less. `groups` are memory_groups(), perhaps as of a moment ago.
std::int64_t available_memory(const std::filesystem::path& root, std::span<const std::filesystem::path> groups);
std::int64_t available_memory(const std::filesystem::path& root = "/");

/// Returns the bytes of physical memory that a process holds, including all shared pages; 0 if it is gone. On macOS it
/// is the physical footprint, in which shared pages count for one process alone.
std::int64_t resident_memory(std::int64_t pid, const std::filesystem::path& root = "/");

/// Returns the same, but with the process's part of shared pages only; nothing where the kernel does not report it. The
/// reading is slow: the kernel walks all pages of the process.
std::optional<std::int64_t> proportional_memory(std::int64_t pid, const std::filesystem::path& root = "/");

/// Returns the parent of each process of the machine, by process.
std::unordered_map<std::int64_t, std::int64_t> parents_of_processes(const std::filesystem::path& root = "/");

/// Returns for each root the processes of its tree: itself and all whose chain of parents leads to it; empty if it is
/// gone. A process below two roots is in both trees. The processes are read once for all.
std::vector<std::vector<std::int64_t>> trees(std::span<const std::int64_t> roots,
                                             const std::filesystem::path& root = "/");

/// Returns the bytes of host memory that each tree holds. Memory that its processes share counts once (proportional set
/// size), where the kernel reports that; otherwise, and for a single process, all resident memory counts.
std::vector<std::int64_t> tree_memory(std::span<const std::vector<std::int64_t>> trees,
                                      const std::filesystem::path& root = "/");

/// Returns true if the kernel has the device files through which programs reach a GPU. This is cheap, whereas asking
/// OpenCL loads every driver.
bool has_gpu_file(const std::filesystem::path& root = "/");

/// The machine's network name.
std::string host_name();

}  // namespace hpo
