#include "orchestrator/observers/run_end.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

#include "hpo/interrupted.hpp"
#include "hpo/printable.hpp"
#include "hpo/standing.hpp"
#include "orchestrator/insights/insights.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/view/report.hpp"
#include "orchestrator/view/summary.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo {

namespace {

/// Returns true if more trials can follow: if the study failed, was interrupted or ran out of time before all trials
/// ended, but not if its space or its patience is exhausted.
bool can_resume(const Study& study, const RunOutcome& outcome) {
    using enum SessionEnd;
    if (outcome.end != finished && count_ended(outcome.record) < study.budget.trials) return true;
    return std::ranges::any_of(outcome.record.trials, [](const TrialRecord& trial) { return !is_final(trial.state); });
}

/// Returns the reason why the last trial failed, in parentheses, for a study in which no trial has a value.
std::string last_failure(const StudyRecord& record) {
    for (auto trial = record.trials.rbegin(); trial != record.trials.rend(); ++trial)
        if (const std::string first = trial->reason.substr(0, trial->reason.find('\n')); !first.empty())
            return " (trial " + std::to_string(trial->number) + ": " + printable(first) + ")";
    return {};
}

/// Seconds since the epoch.
double time_of_day() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

int exit_code(const RunOutcome& outcome) {
    const bool failed = outcome.end == Engine::End::failed;
    if (outcome.signal != 0 && (!failed || outcome.lock_given_up)) return exit_status_of(outcome.signal);
    if (failed) return outcome.no_host_worked ? 2 : 1;
    return 0;
}

std::string end_line(const Study& study, const RunOutcome& outcome) {
    const TrialRecord* best = best_trial(outcome.record, study.objective);
    nlohmann::ordered_json end{{"schema", json_schema},
                               {"event", "ended"},
                               {"study", study.name},
                               {"time", utc_text(outcome.has_begun ? outcome.record.last_time : time_of_day())},
                               {"outcome", to_text(outcome.end)},
                               {"reason", outcome.reason},
                               {"seconds", outcome.seconds},
                               {"begun", view::count_started(outcome.record)},
                               {"ended", count_ended(outcome.record)},
                               {"best", best ? trial_json(*best) : nlohmann::ordered_json(nullptr)}};
    add_front(end, outcome.record, study.objective);
    return end.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string end_report(const Study& study, const StudyFolder& folder, RunOutcome& outcome, const std::string& resume) {
    const view::Moment moment{outcome.seconds, 1, false};
    // The reason of a failure is said once, at the end.
    const bool failed = outcome.end == Engine::End::failed;
    view::ReportFacts facts{folder.path.string(), failed ? "the search failed" : outcome.reason,
                            can_resume(study, outcome), resume};
    facts.failed = failed;
    facts.reason_follows = failed || (exit_code(outcome) == 0 && !best_trial(outcome.record, study.objective));
    if (!outcome.signal && !outcome.folder_lost) {
        StudySnapshot snapshot{folder, study, std::move(outcome.record), std::nullopt, std::move(outcome.store)};
        facts.insights = insights_of(snapshot);
        outcome.record = std::move(snapshot.record);
        for (const std::string& found : outcome.concurrency)
            for (std::string& line : labelled_lines("At once", found)) facts.insights.push_back(std::move(line));
    }
    return view::draw_report(study, outcome.record, moment, facts, view::screen_of_stdout());
}

void refuse_without_result(const Study& study, const RunOutcome& outcome) {
    if (outcome.end == Engine::End::failed) throw Fatal(outcome.reason, exit_code(outcome));
    if (best_trial(outcome.record, study.objective) || exit_code(outcome) != 0) return;
    if (const std::string broken = view::constraints_text(outcome.record, study.objective); !broken.empty())
        throw Fatal(broken + "; see hpo ls " + study.name);
    throw Fatal("no trial completed or was stopped with a value of " + study.objective.metric +
                last_failure(outcome.record) + "; see hpo ls " + study.name);
}

}  // namespace hpo
