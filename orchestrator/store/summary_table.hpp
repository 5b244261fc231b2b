// The summary of a study: the state of each trial, so that viewers need not read millions of steps. It is a cache of
// the events. An inconsistent summary is not read, and is rebuilt.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/result.hpp"
#include "orchestrator/store/packed.hpp"
#include "orchestrator/store/sqlite.hpp"

namespace hpo {

/// One connection's view of the table `summary`. Not thread-safe. Row 0 holds the study's totals, with the number of
/// trials and the checksum of their rows, which reveals a missing, stale or damaged row.
class SummaryTable {
   public:
    /// `database` outlives the object.
    explicit SummaryTable(sqlite::Database& database) : database_(database) {}

    /// Prepare the table's statements. Call them first, once the database has the table. Before, there is no summary.
    Result<void> prepare_reading();
    Result<void> prepare_writing();

    /// Replaces `record` by the summary if that is newer and intact. Otherwise leaves `record` unchanged, to be updated
    /// by events.
    void read(StudyRecord& record);

    /// Returns the sequence of the last event in the summary; 0: no intact summary.
    [[nodiscard]] std::int64_t sequence();

    /// Stores these trials and the totals from `record`; all trials if the table was not intact. Call it within a
    /// transaction and pass the outcome to ended().
    Result<void> write(const StudyRecord& record, std::span<const std::int64_t> trials);
    void ended(bool committed);

   private:
    struct Totals {
        std::int64_t sequence = 0;
        std::string body;
    };
    struct Rows {
        std::vector<std::int64_t> numbers;  ///< of the trials, ascending
        std::deque<TrialRecord> trials;
        packed::TrialReader reader;
    };

    [[nodiscard]] std::optional<Totals> totals();
    [[nodiscard]] bool read_rows(const Totals& totals, std::int64_t since, TrialParts parts, Rows* rows);
    void read_within(StudyRecord& record);
    Result<void> insert(std::int64_t trial, std::int64_t sequence, const std::string& body);

    sqlite::Database& database_;
    bool readable_ = false;
    std::vector<std::uint32_t> sums_;  ///< checksum of the row of trial n at index n - 1
    std::int64_t sums_of_ = 0;         ///< sequence of the summary with these checksums; 0: none is known to be intact
    std::vector<std::uint32_t> written_sums_;  ///< checksums after the commit of the transaction
    std::int64_t written_ = 0;                 ///< sequence after the commit; 0: nothing was written
    sqlite::Statement totals_, rows_, insert_, clear_;
};

}  // namespace hpo
