// The owners of locks on a file, as far as the kernel tells (/proc/locks).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/descriptor.hpp"

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

/// Looks for a process that blocks a database's writer. Keeps the files open that it asks about, since closing them
/// would drop this process's own locks: it outlives the connection to the database.
class LockQuestion {
   public:
    explicit LockQuestion(std::filesystem::path database) : database_(std::move(database)) {}

    /// Returns true if /proc/locks shows a process that holds it, or the kernel knows one.
    [[nodiscard]] bool held();

    /// The kernel knows of processes that /proc/locks does not show: in other containers and on other hosts.
    [[nodiscard]] bool kernel_knows_holder();

   private:
    std::filesystem::path database_;
    Descriptor file_, memory_;
};

}  // namespace hpo
