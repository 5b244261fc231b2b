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
/// All but the trials.
std::string of_totals(const StudyRecord& record);

/// The way back, bit for bit, non-finite numbers included. These throw protobuf::Broken, or std::exception for
/// parameters that are not readable.
Report to_report(std::string_view bytes);
SoFar to_so_far(std::string_view bytes);
TrialRecord to_trial(std::string_view bytes);
void read_totals(StudyRecord& record, std::string_view bytes);

}  // namespace hpo::packed
