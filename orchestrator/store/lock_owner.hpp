// Who stands in the way of a locked file, as far as the kernel tells (/proc/locks).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hpo {

struct FileLock {
    std::int64_t pid = 0;  ///< 0: not known (a lock of an open file description, or another container's)
    bool exclusive = false;
    std::int64_t first = 0, last = 0;  ///< bytes
};

/// The record locks on the file of this number, in the text of /proc/locks. The device is not compared: overlay and
/// btrfs show another one there than stat() does.
std::vector<FileLock> locks_in(std::string_view proc_locks, std::uint64_t inode);

/// The record locks on a file. It is not opened: closing it again would drop this process's own locks on it.
std::vector<FileLock> locks_on(const std::filesystem::path& file);

/// "process 17 of ada (python3 watch.py)" for each other process whose locks on a database keep its writer waiting;
/// empty: none is found.
std::string lockers_of(const std::filesystem::path& database);

}  // namespace hpo
