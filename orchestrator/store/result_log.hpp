// A log of acknowledged results outside the database. SQLite silently ends its reading at a damaged byte in the
// write-ahead log, and this log tells which later results are missing. A line is appended once its result is on the
// disk, and is not synchronised itself: lines lost with the power raise no alarm.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/descriptor.hpp"
#include "hpo/result.hpp"
#include "hpo/trial.hpp"

namespace hpo {

/// The stored end of a trial.
struct StoredEnd {
    std::int64_t sequence = 0;
    std::int64_t trial = 0;
    TrialState state = TrialState::complete;
    std::optional<double> value = {};
    std::uint32_t sum = 0;  ///< of the event's row
};

/// The file FILE-results, beside the database FILE. It exists while a session runs, and after a session that was
/// killed.
class ResultLog {
   public:
    explicit ResultLog(std::filesystem::path database) : database_(std::move(database)) {}
    /// Removes the log if the database, which is closed by then, has absorbed its write-ahead log.
    ~ResultLog();
    ResultLog(const ResultLog&) = delete;
    ResultLog& operator=(const ResultLog&) = delete;

    /// Returns the results at the end of the log that the database lacks, in their order. Reads from the end to the
    /// first result that the database holds. Skips torn and damaged lines.
    [[nodiscard]] std::vector<StoredEnd> missing(const std::function<bool(const StoredEnd&)>& held) const;
    /// Opens the log for writing. Drops the `missing` results, which the user has been warned of.
    Result<void> open(std::span<const StoredEnd> missing);

    /// Adds written results, to be acknowledged after the next synchronisation.
    void add(std::span<const StoredEnd> ends);
    /// Returns the lines for acknowledge() after the next synchronisation. Called by the synchronising thread before it
    /// starts.
    [[nodiscard]] std::string take();
    /// Appends lines to the log. Ignores write errors, as the results themselves are stored.
    void acknowledge(const std::string& lines);

   private:
    [[nodiscard]] std::filesystem::path file() const { return database_.string() + "-results"; }

    std::filesystem::path database_;
    Descriptor out_;
    std::mutex mutex_;  ///< guards `waiting_`
    std::string waiting_;
};

/// Removes the log of a removed database.
void remove_result_log(const std::filesystem::path& database);

/// Returns "trial 3 (complete, 0.9020), trial 5 (failed), trials 7 to 9". Long lists name the later ones by number
/// alone. They are in the order of their trials.
std::string text_of(std::span<const StoredEnd> ends);

}  // namespace hpo
