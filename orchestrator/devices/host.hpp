// The machine as this process may use it: cores, host memory, name. Read from /proc, the affinity mask and the control
// group.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hpo {

struct Host {
    std::vector<int> cpus;    ///< in the affinity mask, ascending; never empty
    double cores = 1;         ///< of them, what the control group's quota allows; at least 1
    std::int64_t memory = 0;  ///< bytes this process could have at most: installed, or the control group's limit
    /// Processes and threads that the control group still lets this one start (pids.max); nothing: any number.
    std::optional<std::int64_t> processes;
    std::string cpu_name;  ///< "AMD EPYC 9B14"; "unknown CPU" where the kernel does not say
};

/// `root` is prepended to /proc and /sys: tests bring their own.
Host read_host(const std::filesystem::path& root = "/");

/// Bytes that could be had right now without swapping: MemAvailable, or what the control group has left if that is
/// less.
std::int64_t available_memory(const std::filesystem::path& root = "/");

/// Bytes of physical memory that a process holds; 0 when it is gone. Of shared pages, all of them.
std::int64_t resident_memory(std::int64_t pid, const std::filesystem::path& root = "/");

/// As resident_memory, but its part of what it shares with others; nothing where the kernel does not tell. The kernel
/// walks all its pages for it.
std::optional<std::int64_t> proportional_memory(std::int64_t pid, const std::filesystem::path& root = "/");

/// For each root the processes of its tree: those whose chain of parents leads to it, and itself; empty when it is
/// gone. A process below two roots is in both. One look at /proc for all.
std::vector<std::vector<std::int64_t>> trees(std::span<const std::int64_t> roots,
                                             const std::filesystem::path& root = "/");

/// Bytes of host memory that each of these trees holds. What its processes share counts once (proportional set size),
/// where the kernel lets us read that; of a single process, and else, all of its resident memory.
std::vector<std::int64_t> tree_memory(std::span<const std::vector<std::int64_t>> trees,
                                      const std::filesystem::path& root = "/");
std::vector<std::int64_t> tree_memory(std::span<const std::int64_t> roots, const std::filesystem::path& root = "/");

/// Whether the kernel shows a GPU, by the files through which programs reach one. Cheap, where asking OpenCL loads
/// every driver.
bool has_gpu_file(const std::filesystem::path& root = "/");

/// The machine's network name.
std::string host_name();

}  // namespace hpo
