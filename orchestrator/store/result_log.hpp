// Which results were acknowledged, outside the database: where a damaged byte in the write-ahead log makes SQLite end
// its reading early, the results behind it are missing without a word. A line is appended once its result is on the
// disk, and is never synchronised itself: what it says was true, and what a loss of power takes of it is no alarm.
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

/// A trial's end, as it was stored.
struct StoredEnd {
    std::int64_t sequence = 0;
    std::int64_t trial = 0;
    TrialState state = TrialState::complete;
    std::optional<double> value = {};
    std::uint32_t sum = 0;  ///< of the event's row
};

/// FILE-results, beside the database FILE. It is there while a session runs, and after one that was killed.
class ResultLog {
   public:
    explicit ResultLog(std::filesystem::path database) : database_(std::move(database)) {}
    /// Removed once the database, which is closed by then, has taken in its write-ahead log.
    ~ResultLog();
    ResultLog(const ResultLog&) = delete;
    ResultLog& operator=(const ResultLog&) = delete;

    /// The results at its end that the database does not hold, in their order. Lines that are torn or damaged say
    /// nothing. What is missing is missing up to the end: reading begins there, and ends with the first result that is
    /// held.
    [[nodiscard]] std::vector<StoredEnd> missing(const std::function<bool(const StoredEnd&)>& held) const;
    /// From now on it can be written. It does not name those again that are `missing`, of which the user was told.
    Result<void> open(std::span<const StoredEnd> missing);

    /// These results were written, and are to be acknowledged after the next synchronisation.
    void add(std::span<const StoredEnd> ends);
    /// Called by the thread that synchronises, before it does so: what it is to acknowledge() after that.
    [[nodiscard]] std::string take();
    /// A file that cannot be written keeps nobody from going on: the results are stored.
    void acknowledge(const std::string& lines);

   private:
    [[nodiscard]] std::filesystem::path file() const { return database_.string() + "-results"; }

    std::filesystem::path database_;
    Descriptor out_;
    std::mutex mutex_;  ///< over what follows
    std::string waiting_;
};

/// Removes the log of a database that is gone.
void remove_result_log(const std::filesystem::path& database);

/// "trial 3 (complete, 0.9020), trial 5 (failed), trials 7 to 9": of many, the later ones by their numbers alone.
std::string text_of(std::span<const StoredEnd> ends);

}  // namespace hpo
