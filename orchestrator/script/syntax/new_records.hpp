// Tells which records of a file of metrics are new after the file was rewritten.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hpo/trial.hpp"

namespace hpo::script {

/// Records arrive in the order of the file. A rewritten file mostly repeats its former records, as
/// Lightning's CSVLogger does for a further column, or contains its last ones only, as a results.json of the current
/// epoch does. No record counts twice:
/// - Records that repeat the former ones from the first on are old.
/// - Otherwise a record counts if its epoch or its step is greater than that of the last one.
/// - Without such a column, records that repeat the former ones up to the last are old, or, if any was repeated from
/// the
///   first on, as many as there were.
class NewRecords {
   public:
    explicit NewRecords(std::string objective) : objective_(std::move(objective)) {}

    /// Returns true if the record counts.
    bool is_new(const Metrics& record);
    /// The file begins again.
    void restart();
    /// The records so far count for another trial: those that follow are new.
    void forget();

   private:
    /// A record with the objective. A member that it does not have is NaN.
    struct Mark {
        double value, epoch, step;
    };
    [[nodiscard]] Mark mark_of(const Metrics& record) const;
    bool is_new(const Mark& mark);
    /// Returns true if the records since the restart repeat former ones up to the last, as far as they have come.
    bool repeats_end(const Mark& mark);

    std::string objective_;
    std::vector<Mark> version_;        ///< records of the file as it is
    std::vector<Mark> former_;         ///< of the file before it was rewritten
    std::optional<Mark> last_;         ///< of the records that count
    bool again_ = false;               ///< true if the file was rewritten and may still repeat former records
    bool same_begin_ = true;           ///< true if its records so far repeat the former ones
    std::vector<std::size_t> starts_;  ///< of former records that it may repeat up to the last
};

}  // namespace hpo::script
