// The database as a file: what it must look like before SQLite may touch it, and how a new one comes to be. Everything
// here leaves a file that is refused as it was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "hpo/result.hpp"
#include "orchestrator/store/sqlite.hpp"

namespace hpo {

inline constexpr std::int64_t application_id = 0x68706f31;  ///< "hpo1", in the file's header
inline constexpr std::int64_t schema_version = 2;           ///< user_version; a newer one is refused

/// Whole files up to this size are checked page by page at open (about 0.3 s); larger ones by header and length, and
/// in either case each event by its own sum when it is read.
inline constexpr std::uintmax_t full_check_bytes = 64u << 20;

/// Sum over an event's row (FNV-1a, 32 bits): a changed byte never reads as another result.
std::uint32_t row_sum(std::int64_t sequence, double time, int kind, std::int64_t trial, std::int64_t attempt,
                      std::string_view body);

/// The sum of an event, as above, or of a mark or a summary.
inline std::uint32_t row_sum(std::int64_t number, std::string_view body) { return row_sum(number, 0, 0, 0, 0, body); }

/// Whether the existing `file` is one of ours and of a schema this program knows. Reads 100 bytes.
Result<void> check_identity(const std::filesystem::path& file);

/// An Error for a schema that is newer than this program.
Result<void> check_version(const std::filesystem::path& file, std::int64_t version);

/// Also whether it is whole. For the holder alone: a writer at work would look like damage.
Result<void> check_whole(const std::filesystem::path& file);

/// Makes the shared memory of SQLite beside `file` one that only those can open who may (mode_of_locked_files()):
/// SQLite gives it the permissions of the database, and a lock on it stops the writer. To be called before it is
/// opened.
void keep_shared_memory_private(const std::filesystem::path& file);

/// A whole copy, in `folder`, of a database that somebody else writes and whose locks cannot be taken. An Error: it
/// changed too often.
Result<void> copy_unlocked(const std::filesystem::path& file, const std::filesystem::path& folder);

/// Makes an empty database, complete with its schema, under a temporary name and renames it to `file`: whoever is
/// killed while it is made leaves no half of it.
Result<void> create_database(const std::filesystem::path& file);

/// Brings a database of an older schema to this one, in one transaction, after a whole copy of it was made beside it
/// (FILE.schema-1). For the holder alone. An Error: it is as it was.
Result<void> migrate(const std::filesystem::path& file, sqlite::Database& database);

/// Tables and indexes that schema 2 has and schema 1 has not.
extern const char* const schema_2;

}  // namespace hpo
