// The owners of locks on a file, as far as the kernel tells (/proc/locks).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hpo {

struct FileLock {
    std::int64_t pid = 0;  ///< 0: unknown (a lock of an open file description, or of another container)
    bool exclusive = false;
    std::int64_t first = 0, last = 0;  ///< bytes
};

/// Returns the record locks on the file with this inode, from the text of /proc/locks. Ignores the device, since
/// overlay and btrfs show another one there than stat() does.
std::vector<FileLock> locks_in(std::string_view proc_locks, std::uint64_t inode);

/// Returns the record locks on a file without opening it, since closing it would drop this process's own locks.
std::vector<FileLock> locks_on(const std::filesystem::path& file);

/// Returns "process 17 of ada (python3 watch.py)" for each other process whose locks on a database block its writer;
/// empty if none is found.
std::string lockers_of(const std::filesystem::path& database);

}  // namespace hpo
