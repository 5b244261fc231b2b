// Reads events from the rows of a study's database. A row whose checksum differs is an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/result.hpp"
#include "orchestrator/store/sqlite.hpp"

namespace hpo {

/// Prepared reads of one connection. Not thread-safe. Errors name the file, and the damaged row if there is one.
class StoredRows {
   public:
    /// `database` outlives the object.
    StoredRows(std::filesystem::path file, sqlite::Database& database) : file_(std::move(file)), database_(database) {}

    /// Prepares the statements for the file's present schema, as a viewer may see the study being migrated.
    Result<void> follow_schema();
    [[nodiscard]] std::int64_t schema() const { return schema_; }

    /// The functions of Store with these names (store.hpp).
    Result<std::vector<StoredEvent>> events(std::int64_t after, std::size_t limit);
    Result<StoredEvent> proposal(std::int64_t trial);
    Result<std::vector<StoredEvent>> steps(std::int64_t trial);
    Result<std::vector<StoredEvent>> events_to_resume(std::int64_t after, std::size_t limit);

    /// Return the numbers of the last event and of the last trial; 0: none.
    Result<std::int64_t> last_sequence();
    Result<std::int64_t> last_trial();

   private:
    Result<void> prepare_resume();
    Result<void> make(sqlite::Statement& statement, const std::string& sql);
    Result<std::vector<StoredEvent>> read_all(sqlite::Statement& select, std::int64_t next);
    [[nodiscard]] Result<StoredEvent> read_row(const sqlite::Statement& row, std::int64_t expected) const;
    [[nodiscard]] Error damaged(const std::string& what, const std::string& why) const;

    std::filesystem::path file_;
    sqlite::Database& database_;
    std::int64_t schema_ = 0;  ///< schema at the last look
    bool resume_prepared_ = false;
    sqlite::Statement events_, proposal_, steps_, resume_;
};

}  // namespace hpo
