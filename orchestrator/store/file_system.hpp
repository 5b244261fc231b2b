// Properties of a study's file system: locks and shared memory of one machine, and free space.
#pragma once

#include <sys/types.h>
#include <cstdint>

#include <filesystem>
#include <optional>
#include <string>

#include "hpo/result.hpp"

namespace hpo {

/// Returns the name of a network file system by the magic number of Linux's statfs; nullopt for other numbers.
std::optional<std::string> network_name(unsigned long magic);

/// Returns the name of the network file system of `path`; nullopt for others, and if statfs fails.
std::optional<std::string> network_file_system(const std::filesystem::path& path);

/// Returns true if files below `path` lie in memory and not on a disk, as far as the system tells.
bool lies_in_memory(const std::filesystem::path& path);

/// Fails if files in an existing folder cannot be locked as a study's holder locks them. Asks for a lock on the folder
/// itself without taking it.
Result<void> can_lock_in(const std::filesystem::path& folder);

/// Returns the bytes that this user can still write below `path`; nothing if the system does not tell.
std::optional<std::int64_t> free_space(const std::filesystem::path& path);

/// Returns the permissions of a file in `folder` on which even a reader's lock can block the study: access for the
/// owner, and for users who may write to the folder, as they can change the study anyway.
mode_t mode_of_locked_files(const std::filesystem::path& folder);

}  // namespace hpo
