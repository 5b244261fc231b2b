// The hosts of a study's trials in the report at its end and in hpo show STUDY.
#include <gmock/gmock.h>

#include "orchestrator/view/report.hpp"

namespace hpo::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string report_of_trials_on(const std::vector<std::string>& hosts) {
    Study study;
    study.name = "several";
    StudyRecord record;
    for (const std::string& host : hosts) {
        TrialRecord trial;
        trial.number = static_cast<std::int64_t>(record.trials.size()) + 1;
        trial.state = TrialState::complete;
        Allocation allocation;
        allocation.host = host;
        trial.allocation = allocation;
        record.trials.push_back(trial);
    }
    return draw_report(study, record, {}, {}, {0, 0, false, true});
}

TEST(HostsInTheReport, AreCountedInTheOrderOfTheirFirstTrials) {
    EXPECT_THAT(report_of_trials_on({"node2", "node1", "", "node2", "node10"}),
                HasSubstr("\nHosts         node2 (2 trials), node1 (1), node10 (1)\n"));
}

TEST(HostsInTheReport, AreLeftOutWhereTheStudyHasOneMachine) {
    EXPECT_THAT(report_of_trials_on({"", ""}), Not(HasSubstr("Hosts")));
}

TEST(HostsInTheReport, AreNamedUpToEight) {
    EXPECT_THAT(report_of_trials_on({"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}),
                HasSubstr("Hosts         1 (1 trial), 2 (1), 3 (1), 4 (1), 5 (1), 6 (1), 7 (1), 8 (1) and 2 more\n"));
}

}  // namespace
}  // namespace hpo::view
