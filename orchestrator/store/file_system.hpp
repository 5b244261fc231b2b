// Which file systems a study may not lie on: those whose locks and shared memory are not those of one machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace hpo {

/// The name of a network file system by statfs's magic number; nullopt: none that we know.
std::optional<std::string> network_name(unsigned long magic);

/// Of the file system that `path` lies on; nullopt also when it cannot be asked.
std::optional<std::string> network_file_system(const std::filesystem::path& path);

}  // namespace hpo
