// The database as a file: checks before SQLite may open it, copies, creation and migration. A refused file is left
// unchanged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "hpo/result.hpp"
#include "orchestrator/store/sqlite.hpp"

namespace hpo {

inline constexpr std::int64_t application_id = 0x68706f31;  ///< "hpo1", in the file's header
inline constexpr std::int64_t schema_version = 2;           ///< user_version; a newer one is refused

/// Files up to this size are checked page by page at open (about 0.3 s), larger ones by header and length. Each event
/// is also checked by its own sum when it is read.
inline constexpr std::uintmax_t full_check_bytes = 64u << 20;

/// Returns the checksum of an event's row (FNV-1a, 32 bits), so that a changed byte never reads as another result.
std::uint32_t row_sum(std::int64_t sequence, double time, int kind, std::int64_t trial, std::int64_t attempt,
                      std::string_view body);

/// Returns the checksum of a row of steps, marks or summaries.
inline std::uint32_t row_sum(std::int64_t number, std::string_view body) { return row_sum(number, 0, 0, 0, 0, body); }

/// Fails unless the existing `file` is a study's database with a schema that this program knows. Reads 100 bytes.
Result<void> check_identity(const std::filesystem::path& file);

/// Fails if the schema is newer than this program.
Result<void> check_version(const std::filesystem::path& file, std::int64_t version);

/// Checks identity and integrity. For the holder alone, as a writer at work would look like damage.
Result<void> check_whole(const std::filesystem::path& file);

/// Restricts the permissions of SQLite's shared memory beside `file` (mode_of_locked_files()). SQLite gives it those of
/// the database, and a reader's lock on it would stop the writer. Call it before the database is opened.
void keep_shared_memory_private(const std::filesystem::path& file);

/// Copies a database that another user writes, whose locks this user cannot take, to `folder`. Fails if it changes too
/// often for a consistent copy.
Result<void> copy_unlocked(const std::filesystem::path& file, const std::filesystem::path& folder);

/// Creates an empty database with its schema under a temporary name and renames it to `file`, so that a kill leaves no
/// partial one.
Result<void> create_database(const std::filesystem::path& file);

/// Migrates a database from an older schema in one transaction, after copying it to FILE.schema-1. For the holder
/// alone. Leaves it unchanged if it fails.
Result<void> migrate(const std::filesystem::path& file, sqlite::Database& database);

/// SQL of the tables and indexes that schema 2 adds to schema 1.
extern const char* const schema_2;

}  // namespace hpo
