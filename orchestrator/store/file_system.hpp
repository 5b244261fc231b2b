// What a study needs of its file system: locks and shared memory that are those of one machine, and space.
#pragma once

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

}  // namespace hpo
