// The database as a file: what it must look like before SQLite may touch it, and how a new one comes to be. Everything
// here leaves a file that is refused as it was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "hpo/result.hpp"

namespace hpo {

inline constexpr std::int64_t application_id = 0x68706f31;  ///< "hpo1", in the file's header
inline constexpr std::int64_t schema_version = 1;           ///< user_version; a newer one is refused

/// Whole files up to this size are checked page by page at open (about 0.3 s); larger ones by header and length, and
/// in either case each event by its own sum when it is read.
inline constexpr std::uintmax_t full_check_bytes = 64u << 20;

/// Sum over an event's row (FNV-1a, 32 bits): a changed byte never reads as another result.
std::uint32_t row_sum(std::int64_t sequence, double time, int kind, std::int64_t trial, std::int64_t attempt,
                      std::string_view body);

/// Whether the existing `file` is one of ours and of a schema this program knows. Reads 100 bytes.
Result<void> check_identity(const std::filesystem::path& file);

/// Also whether it is whole. For the holder alone: a writer at work would look like damage.
Result<void> check_whole(const std::filesystem::path& file);

/// Makes an empty database, complete with its schema, under a temporary name and renames it to `file`: whoever is
/// killed while it is made leaves no half of it.
Result<void> create_database(const std::filesystem::path& file);

}  // namespace hpo
