#include "orchestrator/script/ending.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <optional>

#include "hpo/printable.hpp"
#include "orchestrator/scheduling/out_of_memory.hpp"
#include "orchestrator/script/syntax/failure_reason.hpp"
#include "orchestrator/script/syntax/signal_signs.hpp"

namespace hpo::script {

namespace {

/// Returns the signal that the error or the lines after it name.
std::optional<int> signal_told(const FailureReason& reason) {
    if (const auto signal = signal_named(reason.text.substr(0, reason.text.find('\n')))) return signal;
    for (const std::string& line : reason.rest)
        if (const auto signal = signal_named(line)) return signal;
    return std::nullopt;
}

std::string how_it_ended(int status) {
    return WIFSIGNALED(status) ? "died of signal " + std::to_string(WTERMSIG(status))
                               : "exited with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Ending ending_of(const CommandEnd& end) {
    const FailureReason reason = failure_reason(end.output);
    const std::string last = printable(reason.text, true);
    const std::string quoted = last.empty() ? "" : ": " + last;
    if (end.steps >= end.planned) {
        if (end.status == 0) return {};
        return {Outcome::complete, "after its last step " + end.who + " " + how_it_ended(end.status) + quoted};
    }
    if (end.status != 0 || reason.fatal)
        if (const auto memory = find_out_of_memory(reason.evidence, true))
            return {Outcome::out_of_memory, printable(memory->line)};
    if (end.status == 0)
        return {Outcome::complete,
                reason.fatal ? end.who + " exited with status 0, but its output ends with an error" + quoted : ""};
    if (WIFSIGNALED(end.status)) return {.outcome = Outcome::lost, .signal = WTERMSIG(end.status)};
    const int status = WEXITSTATUS(end.status);
    if (const auto signal = signal_told(reason)) return {.outcome = Outcome::lost, .signal = *signal};
    if (signal_of_status(status)) return {.outcome = Outcome::lost, .status = status};
    return {Outcome::failed, end.who + " exited with status " + std::to_string(status) + quoted};
}

EndingOfRanks ending_of_ranks(const std::vector<RankEnd>& ends, const CommandEnd& command) {
    const auto ending_by = [&](const RankEnd& end) {
        CommandEnd own = command;
        own.who = "rank " + std::to_string(end.rank);
        if (end.rank > 0) own.output = end.output;
        // The status of a rank that was told to end says nothing; an error at the end of its output does.
        own.status = end.sent == 0 ? end.status : 0;
        return EndingOfRanks{ending_of(own), end.rank};
    };
    const auto failed = [](const RankEnd& end) { return end.status != 0; };
    const auto first = std::find_if(ends.begin(), ends.end(), failed);
    if (first == ends.end()) return {ending_of(command)};
    if (first->sent != 0) {  // the launcher has passed on a signal of its own
        CommandEnd told = command;
        told.status = first->sent;
        return {ending_of(told), std::nullopt};
    }
    for (auto end = first; end != ends.end(); ++end)
        if (failed(*end))
            if (EndingOfRanks by = ending_by(*end); by.ending.outcome == Outcome::out_of_memory) return by;
    const auto killed = std::find_if(first, ends.end(), [](const RankEnd& end) {
        return WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGKILL && end.sent != SIGKILL;
    });
    if (command.steps < command.planned && killed != ends.end())
        return {{.outcome = Outcome::lost, .signal = SIGKILL}, killed->rank};
    return ending_by(*first);
}

std::string more_reports_message(const to_worker::Run& run, std::int64_t reports) {
    const bool several = reports > 1;
    return "ended with its " + std::to_string(run.steps) + (several ? " steps of " + std::to_string(reports) : "") +
           " reports of " + run.objective.metric + " (budget.epochs), and it had more to report" +
           (several ? "" : ": if it reports each iteration, worker: {step: 100} makes one step of 100 reports");
}

}  // namespace hpo::script
