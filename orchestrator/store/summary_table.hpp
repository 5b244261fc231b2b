// The summary of a study: what each trial has come to, so that viewers need not read millions of steps. It is a cache
// of the events. One that does not agree with itself is not read, and is made anew.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/result.hpp"
#include "orchestrator/store/sqlite.hpp"

namespace hpo {

/// One connection's view of the table `summary`. Not thread-safe. Row 0 holds the study's totals, with the number of
/// trials and the sum over their rows: a row that is missing, stale or damaged shows.
class SummaryTable {
   public:
    /// `database` must outlive it.
    explicit SummaryTable(sqlite::Database& database) : database_(database) {}

    /// To be called once the database has the table, before all else; until then there is no summary.
    Result<void> prepare_reading();
    Result<void> prepare_writing();

    /// Brings `record` to the summary if that is newer and whole. Otherwise `record` stays as it is, and its events
    /// tell what the summary should have told.
    void read(StudyRecord& record);

    /// The last event in the summary; 0: there is none that is whole.
    [[nodiscard]] std::int64_t sequence();

    /// Keeps these trials and the totals as they are in `record`; all trials where the table was not whole. To be
    /// called within a transaction, whose outcome is told to ended().
    Result<void> write(const StudyRecord& record, std::span<const std::int64_t> trials);
    void ended(bool committed);

   private:
    struct Totals {
        std::int64_t sequence = 0;
        std::string body;
    };
    struct Rows {
        std::vector<std::int64_t> numbers;  ///< of the trials, ascending
        std::vector<TrialRecord> trials;
    };

    [[nodiscard]] std::optional<Totals> totals();
    [[nodiscard]] bool read_rows(const Totals& totals, std::int64_t since, bool bare, Rows* rows);
    void read_within(StudyRecord& record);
    Result<void> insert(std::int64_t trial, std::int64_t sequence, const std::string& body);

    sqlite::Database& database_;
    bool readable_ = false;
    std::vector<std::uint32_t> sums_;          ///< of the row of trial n at index n - 1
    std::int64_t sums_of_ = 0;                 ///< the summary with these sums; 0: none is known to be whole
    std::vector<std::uint32_t> written_sums_;  ///< as they will be when the transaction has committed
    std::int64_t written_ = 0;                 ///< the same for the summary; 0: nothing was written
    sqlite::Statement totals_, rows_, insert_, clear_;
};

}  // namespace hpo
