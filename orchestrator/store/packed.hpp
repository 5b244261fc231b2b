// Steps and summaries as bytes (protobuf.hpp): a large study has millions of steps. The numbers of the fields are part
// of every stored study: append, never change.
#pragma once

#include <string>
#include <string_view>

#include "hpo/event.hpp"
#include "hpo/trial.hpp"

namespace hpo::packed {

std::string of(const Report& report);
std::string of(const SoFar& so_far);
/// Packs a trial with the selected reports of its curve (trial.hpp).
std::string of(const TrialRecord& trial);
/// The number and checksum of a summary's rows of trials, stored in its totals. Absent in totals of the first version.
struct TrialRows {
    std::int64_t trials = -1;
    std::uint64_t sum = 0;  ///< combined checksum of the rows
    friend bool operator==(const TrialRows&, const TrialRows&) = default;
};
/// Packs all of a study's record except the trials.
std::string of_totals(const StudyRecord& record, const TrialRows& rows);

/// Reverse the above bit for bit, non-finite numbers included. Throw protobuf::Broken, or std::exception for unreadable
/// parameters.
Report to_report(std::string_view bytes);
SoFar to_so_far(std::string_view bytes);
TrialRecord to_trial(std::string_view bytes, TrialParts parts = TrialParts::all);

/// Reads the trials of a study and lets them share their common parts, which takes a third of the time.
class TrialReader {
   public:
    /// Reads a trial as to_trial() does.
    TrialRecord read(std::string_view bytes, TrialParts parts);

   private:
    InCommon in_common_;
    std::string allocation_bytes_;  ///< of the last trial that was launched
    SharedValue<Allocation> allocation_;
};

void read_totals(StudyRecord& record, std::string_view bytes);
TrialRows trial_rows_of(std::string_view totals);

}  // namespace hpo::packed
