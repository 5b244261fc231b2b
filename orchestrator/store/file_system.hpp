// What a study needs of its file system: locks and shared memory that are those of one machine, and space.
#pragma once

#include <sys/types.h>
#include <cstdint>

#include <filesystem>
#include <optional>
#include <string>

#include "hpo/result.hpp"

namespace hpo {

/// The name of a network file system by statfs's magic number; nullopt: none that we know.
std::optional<std::string> network_name(unsigned long magic);

/// Of the file system that `path` lies on; nullopt also when it cannot be asked.
std::optional<std::string> network_file_system(const std::filesystem::path& path);

/// Whether files in an existing folder can be locked as a study's holder locks them. Asks whether a lock of the folder
/// itself would be granted, and takes none.
Result<void> can_lock_in(const std::filesystem::path& folder);

/// Bytes that this user can still write below `path`; nothing where the system does not tell.
std::optional<std::int64_t> free_space(const std::filesystem::path& path);

/// The permissions of a file in `folder` on which even a reader can hold up the study, by a lock: for the owner alone,
/// and for those who may write to the folder, and so have the study in their hands anyway.
mode_t mode_of_locked_files(const std::filesystem::path& folder);

}  // namespace hpo
