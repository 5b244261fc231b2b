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
/// Of the curve the telling reports (trial.hpp), and the losses, condensed.
std::string of(const TrialRecord& trial);
/// The rows of a summary's trials, of which its totals speak. Those that the first version wrote speak of none.
struct TrialRows {
    std::int64_t trials = -1;
    std::uint64_t sum = 0;  ///< of the rows' sums
    friend bool operator==(const TrialRows&, const TrialRows&) = default;
};
/// All but the trials.
std::string of_totals(const StudyRecord& record, const TrialRows& rows);

/// The way back, bit for bit, non-finite numbers included. These throw protobuf::Broken, or std::exception for
/// parameters that are not readable.
Report to_report(std::string_view bytes);
SoFar to_so_far(std::string_view bytes);
/// A `bare` trial lacks its point and its parameters, which take most of the time.
TrialRecord to_trial(std::string_view bytes, bool bare = false);
void read_totals(StudyRecord& record, std::string_view bytes);
TrialRows trial_rows_of(std::string_view totals);

}  // namespace hpo::packed
