// The report at the end of a session tells whether hpo run would go on.
#include "orchestrator/observers/run_end.hpp"

#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>

#include <csignal>

namespace hpo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Returns the report of a session of a study of four trials. The folder is away, so that no insights are read.
std::string report_of(SessionEnd end, const std::vector<TrialState>& states) {
    Study study;
    study.name = "ends";
    study.objective = {"loss", Direction::minimize, Objective::At::best};
    study.worker = ScriptWorker{.command = {"played"}};
    study.budget.trials = 4;
    RunOutcome outcome;
    outcome.end = end;
    outcome.reason = "the reason";
    outcome.folder_lost = true;
    for (const TrialState state : states) {
        TrialRecord trial;
        trial.number = static_cast<std::int64_t>(outcome.record.trials.size()) + 1;
        trial.state = state;
        outcome.record.trials.push_back(std::move(trial));
    }
    return end_report(study, {"runs/ends"}, outcome, "ends.yaml");
}

constexpr auto resume = "hpo run ends.yaml";

TEST(RunEnd, ASearchWhoseTrialsHaveAllFailedHasNothingToResume) {
    const std::string text = report_of(SessionEnd::failed, std::vector(4, TrialState::failed));
    EXPECT_THAT(text, Mentions("search", "failed"));
    EXPECT_THAT(text, Not(HasSubstr(resume)));
}

TEST(RunEnd, ASearchThatFailedWithTrialsLeftIsResumed) {
    EXPECT_THAT(report_of(SessionEnd::failed, {TrialState::complete, TrialState::failed}), HasSubstr(resume));
}

TEST(RunEnd, AnInterruptedSearchIsResumedUnlessAllTrialsHaveEnded) {
    EXPECT_THAT(report_of(SessionEnd::interrupted, std::vector(4, TrialState::complete)), Not(HasSubstr(resume)));
    EXPECT_THAT(report_of(SessionEnd::interrupted, std::vector(3, TrialState::complete)), HasSubstr(resume));
}

TEST(RunEnd, ATrialThatHasNotEndedIsResumedThoughTheSearchIsFinished) {
    EXPECT_THAT(report_of(SessionEnd::finished, std::vector(2, TrialState::complete)), Not(HasSubstr(resume)));
    EXPECT_THAT(report_of(SessionEnd::finished, {TrialState::complete, TrialState::paused}), HasSubstr(resume));
}

TEST(RunEnd, AfterASignalTheExitStatusIsThatOfTheSignalUnlessTheSessionFailedOtherwise) {
    // As under a lock of another process, for which an interrupted session does not wait.
    RunOutcome outcome;
    outcome.lock_given_up = true;
    for (const SessionEnd end : {SessionEnd::failed, SessionEnd::interrupted}) {
        outcome.end = end;
        outcome.signal = SIGINT;
        EXPECT_EQ(exit_code(outcome), 130);
        outcome.signal = SIGTERM;
        EXPECT_EQ(exit_code(outcome), 143);
    }
    outcome.lock_given_up = false;
    EXPECT_EQ(exit_code(outcome), 143);
    outcome.end = SessionEnd::failed;
    EXPECT_EQ(exit_code(outcome), 1) << "as when the disk failed, or all trials";
    outcome.signal = 0;
    EXPECT_EQ(exit_code(outcome), 1);
    outcome.no_host_worked = true;
    EXPECT_EQ(exit_code(outcome), 2);
}

}  // namespace
}  // namespace hpo
