// The outcome of a trial by the end of its script's command. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/messages.hpp"
#include "orchestrator/script/rank_records.hpp"

namespace hpo::script {

/// A command that ended by itself.
struct CommandEnd {
    int status = 0;            ///< as waitpid() returns it
    std::string_view output;   ///< the end of its output
    std::int64_t steps = 0;    ///< number of steps that it has reported
    std::int64_t planned = 1;  ///< steps of the budget
    std::string who = "the command";
};

struct Ending {
    Outcome outcome = Outcome::complete;
    std::string message{};  ///< the reason; for a complete trial a remark on its end; printable
    /// If not 0, a process of the command died of this signal: the attempt is lost, and the rest is unset.
    int signal = 0;
    /// If not 0, the command exited with this status, as shells do whose command died of a signal. The attempt is lost.
    int status = 0;
};

/// Returns the outcome by the command's end. A complete trial may have no step.
///
/// A signal counts below a shell, make or torchrun as without them: if the end of the output names it, or if the exit
/// status stands for one. Out of memory is decided by the error that ended the program, and by those that it was raised
/// from; an error that was handled before does not count. A trial that has taken its last step is complete in any case.
/// A trial whose pipe hides the failure of the program is complete, too, since its status is 0; both then have a
/// message.
Ending ending_of(const CommandEnd& end);

struct EndingOfRanks {
    Ending ending;
    std::optional<std::size_t> rank = 0;  ///< the rank whose end decided it; none: a signal to the launcher did
};

/// Returns the outcome of a trial of several ranks by their ends, which are in order. `command` is the end of their
/// launcher, with the output of rank 0.
///
/// The first rank that failed decides, with two exceptions. A rank that ran out of memory decides even where another
/// one, which lost its connection to it, ended before it. So does a rank that was killed (SIGKILL) by anyone but the
/// launcher. A signal that the launcher got and passed on, before any rank failed, ends the trial as the launcher's own
/// death.
EndingOfRanks ending_of_ranks(const std::vector<RankEnd>& ends, const CommandEnd& command);

/// Returns the reason of a complete trial whose command had more to report. Its reports may not be the steps that the
/// user meant. `reports` of the objective make one step.
std::string more_reports_message(const to_worker::Run& run, std::int64_t reports);

}  // namespace hpo::script
