// Recognises databases of SQLite, which users hand over where a study file is expected.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace hpo {

/// The first bytes of each database.
inline constexpr std::string_view sqlite_magic("SQLite format 3\0", 16);

inline bool is_sqlite_file(const std::filesystem::path& file) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored)) return false;
    std::string first(sqlite_magic.size(), '\0');
    std::ifstream(file, std::ios::binary).read(first.data(), static_cast<std::streamsize>(first.size()));
    return first == sqlite_magic;
}

}  // namespace hpo
