#include "orchestrator/slurm/job_log.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace hpo::slurm {
namespace {

std::string complaint(const std::string& log, bool is_cut = false) { return complaint_in(log, "12", is_cut).text; }

TEST(JobLog, TheLastErrorOfHpoCounts) {
    EXPECT_EQ(
        complaint("job 12 begins on node1\nhpo: first\ntrial 1  loss 0.1  complete\nhpo: cannot write\nbest 0.1\n"),
        "cannot write");
    EXPECT_EQ(
        complaint("job 12 begins on node1\nhpo: it fails\nhpo: warning: a key is shadowed\nwarning: trial 1: nan\n"
                  "slurmstepd: error: *** JOB 12 CANCELLED ***\n"),
        "it fails");
    EXPECT_EQ(complaint("job 12 begins on node1\ntrial 1  loss 0.1  complete\nbest 0.1\n"), "");
    EXPECT_EQ(complaint("job 12 begins on node1\nhpo: bold \x1b[1m\n"), "bold \\x1b[1m");
}

TEST(JobLog, ErrorsOfEarlierJobsDoNotCount) {
    const std::string earlier =
        "job 11 begins on node1\nhpo: of job 11\njob 12 begins on node1\nhpo: of the first start\n";
    EXPECT_EQ(complaint(earlier + "job 12 begins on node2\n"), "");
    EXPECT_TRUE(complaint_in(earlier + "job 12 begins on node2\n", "12", false).began);
    EXPECT_FALSE(complaint_in(earlier, "13", false).began);
    EXPECT_EQ(complaint_in(earlier, "13", false).text, "");
    EXPECT_EQ(complaint_in("hpo: of a long job\n", "13", true).text, "of a long job");
}

TEST(JobLog, TheShellAndSlurmSayWhyHpoDidNotBegin) {
    EXPECT_EQ(complaint("job 12 begins on node1\n/spool/job00012/slurm_script: 24: exec: /opt/hpo: not found\n"),
              "/spool/job00012/slurm_script: 24: exec: /opt/hpo: not found");
    EXPECT_EQ(complaint("job 12 begins on node1\nslurmstepd: error: Detected 1 oom_kill event in StepId=12.batch.\n"),
              "slurmstepd: error: Detected 1 oom_kill event in StepId=12.batch.");
}

TEST(JobLog, WarningsAreReadOnceAndWhole) {
    const testing::TemporaryFolder folder;
    const auto log = folder.path() / "slurm.log";
    std::ofstream file(log);
    file << "warning: of an earlier job\n" << std::flush;
    LogWarnings warnings(log);
    EXPECT_TRUE(warnings.read().empty());
    file << "warning: one\ntrial 1  loss 0.1  complete\nhpo: warning: at the start\nwarning: tw" << std::flush;
    EXPECT_EQ(warnings.read(), std::vector<std::string>{"one"});
    file << "o\n" << std::flush;
    EXPECT_EQ(warnings.read(), std::vector<std::string>{"two"});
    EXPECT_TRUE(LogWarnings(folder.path() / "missing").read().empty());
}

}  // namespace
}  // namespace hpo::slurm
