#include "orchestrator/slurm/words.hpp"

#include <gmock/gmock.h>

#include "tests/support/mentions.hpp"

namespace hpo::slurm {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;

TEST(SlurmWords, ReadsJobsAndLeavesOutOtherLines) {
    const auto jobs = jobs_of(
        "squeue: warning: something\n12|RUNNING|2026-11-28T00:22:41|2026-11-28T00:32:41|node[1-3]|None\n"
        "13|PENDING|N/A|N/A||(ReqNodeNotAvail, UnavailableNodes:a|b)\n|RUNNING|||\nx|RUNNING|||||\n14|||||\n");
    ASSERT_EQ(jobs.size(), 2U);
    EXPECT_EQ(jobs[0], (JobState{"12", "RUNNING", "2026-11-28T00:22:41", "2026-11-28T00:32:41", "node[1-3]", ""}));
    EXPECT_EQ(jobs[1], (JobState{"13", "PENDING", "", "", "", "(ReqNodeNotAvail, UnavailableNodes:a|b)"}));
    EXPECT_TRUE(jobs_of("").empty());
}

TEST(SlurmWords, TellsTheStateOfAJobInPlainWords) {
    const auto text = [](const char* line) { return state_text(jobs_of(line).at(0)); };
    EXPECT_THAT(text("12|PENDING|N/A|N/A||Priority"), Mentions("job 12 waits", "priority"));
    EXPECT_THAT(text("12|PENDING|2026-11-28T01:02:03|N/A||Resources"),
                MentionsInOrder("job 12 waits", "nodes", "2026-11-28 01:02"));
    EXPECT_EQ(text("12|PENDING|N/A|N/A||None"), "job 12 waits in the queue");
    EXPECT_THAT(text("12|PENDING|N/A|N/A||PartitionConfig"),
                Mentions("job 12 waits", "not start", "nodes", "(PartitionConfig)"));
    EXPECT_THAT(text("12|PENDING|N/A|N/A||QOSMaxJobsPerUserLimit"),
                Mentions("job 12 waits", "limit", "(QOSMaxJobsPerUserLimit)"));
    EXPECT_THAT(text("12|PENDING|N/A|N/A||ReqNodeNotAvail, UnavailableNodes:n1"), Mentions("job 12 waits", "down"));
    EXPECT_EQ(text("12|PENDING|N/A|N/A||SomethingNew"), "job 12 waits in the queue: SomethingNew");
    EXPECT_THAT(text("12|RUNNING|2026-11-28T01:02:03|2026-11-28T02:02:03|gpu[1-2]|None"),
                MentionsInOrder("job 12 runs", "gpu[1-2]", "2026-11-28 02:02", "most"));
    EXPECT_EQ(text("12|RUNNING|2026-11-28T01:02:03|NONE|gpu1|None"), "job 12 runs on gpu1");
    EXPECT_EQ(text("12|SUSPENDED|N/A|N/A|gpu1|None"), "job 12 is SUSPENDED on gpu1");
    EXPECT_EQ(text("12|COMPLETING|N/A|N/A|gpu1|None"), "job 12 is ending");
    EXPECT_EQ(text("12|TIMEOUT|N/A|N/A|gpu1|None"), "job 12 has ended (TIMEOUT)");
}

TEST(SlurmWords, ReadsTimeLimitsAsSlurmWritesThem) {
    EXPECT_EQ(time_limit_of("1-02:03:04"), 93784);
    EXPECT_EQ(time_limit_of("02:03:04"), 7384);
    EXPECT_EQ(time_limit_of("1:00"), 60);
    for (const char* none : {"infinite", "n/a", "", "5", "1:2:3:4", "-1:00", "a:00", "1-", ":", "99999999999:00"})
        EXPECT_EQ(time_limit_of(none), std::nullopt) << none;
}

TEST(SlurmWords, ReadsPartitions) {
    const auto partitions = partitions_of("main*|infinite|3|gpu:fake:2\nshort|1:00|2|(null)\nnonsense\n|1:00|1|x\n");
    ASSERT_EQ(partitions.size(), 2U);
    EXPECT_EQ(partitions[0].name, "main");
    EXPECT_TRUE(partitions[0].is_default);
    EXPECT_EQ(partitions[0].limit, std::nullopt);
    EXPECT_EQ(partitions[0].gres, "gpu:fake:2");
    EXPECT_EQ(partitions[1].limit, 60);
    EXPECT_EQ(partitions[1].gres, "");
    EXPECT_FALSE(partitions[1].is_default);
}

TEST(SlurmWords, FindsTheIdAndTheMessage) {
    EXPECT_EQ(id_of("12\n"), "12");
    EXPECT_EQ(id_of("Welcome to the cluster\n12;alpha\n"), "12");
    EXPECT_EQ(id_of("2026\n12\n"), "12");
    EXPECT_EQ(id_of("Submitted batch job 12\n"), "");
    EXPECT_EQ(id_of(""), "");
    EXPECT_EQ(message_of("sbatch: error: invalid partition specified: x\nsbatch: error: Batch job submission failed: "
                         "Invalid partition name specified\n"),
              "Invalid partition name specified");
    EXPECT_EQ(message_of("sbatch: unrecognized option '--x'\nTry \"sbatch --help\" for more information\n"),
              "unrecognized option '--x'");
    EXPECT_EQ(message_of("slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"),
              "Unable to contact slurm controller (connect failure)");
    EXPECT_EQ(message_of(" \n\n"), "");
}

TEST(SlurmWords, KnowsErrorsThatLeaveOpenWhetherTheJobIsThere) {
    EXPECT_TRUE(is_unclear("Socket timed out on send/recv operation"));
    EXPECT_TRUE(is_unclear("Zero Bytes were transmitted or received"));
    EXPECT_FALSE(is_unclear("Invalid partition name specified"));
    EXPECT_FALSE(is_unclear("Unable to contact slurm controller (connect failure)"));
    EXPECT_TRUE(is_unreachable("Unable to contact slurm controller (connect failure)"));
    EXPECT_FALSE(is_unreachable("Socket timed out on send/recv operation"));
}

TEST(SlurmWords, ARefusalNamesTheKeyToChange) {
    const auto partitions = partitions_of("main*|infinite|3|gpu:fake:2\nshort|1:00|2|(null)\n");
    EXPECT_THAT(refusal_text("Invalid partition name specified", {.partition = "nosuch"}, partitions),
                MentionsInOrder("resources.slurm.partition: ", "no partition", "nosuch; ", "main", "short"));
    EXPECT_THAT(refusal_text("Invalid partition name specified", {.partition = "nosuch"}, {}),
                AllOf(MentionsInOrder("resources.slurm.partition: ", "no partition"), EndsWith("nosuch")));
    EXPECT_EQ(refusal_text("Requested node configuration is not available", {.gpus = 9}, partitions),
              "resources.slurm: partition main cannot give what nodes, cpus, gpus and memory ask for: it has 3 nodes "
              "with gpu:fake:2 each (Slurm: Requested node configuration is not available)");
    EXPECT_THAT(refusal_text("Requested time limit is invalid (missing or exceeds some limit)",
                             {.partition = "short", .time = 7200}, partitions),
                MentionsInOrder("resources.slurm.time: 2h 00m", "above", "short, 1m 00s", "less", "partition"));
    EXPECT_EQ(refusal_text("Invalid account or account/partition combination specified", {}, partitions),
              "resources.slurm.account: Invalid account or account/partition combination specified");
    EXPECT_EQ(refusal_text("Invalid qos specification", {}, partitions),
              "resources.slurm.qos: Invalid qos specification");
    EXPECT_EQ(refusal_text("Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", {},
                           partitions)
                  .find("resources.slurm.time"),
              std::string::npos);
    EXPECT_EQ(refusal_text("Job dependency problem", {}, partitions), "Slurm refuses the job: Job dependency problem");
}

TEST(SlurmWords, ComparesTheTimeWithThePartitionsLimit) {
    const auto partitions = partitions_of("main*|infinite|3|(null)\nshort|1:00|2|(null)\n");
    EXPECT_EQ(above_time_limit({.time = 7200}, partitions), "");
    EXPECT_EQ(above_time_limit({.partition = "short", .time = 60}, partitions), "");
    EXPECT_EQ(above_time_limit({.partition = "short"}, partitions), "");
    EXPECT_NE(above_time_limit({.partition = "short", .time = 61}, partitions), "");
    EXPECT_EQ(above_time_limit({.partition = "nosuch", .time = 61}, partitions), "");
}

}  // namespace
}  // namespace hpo::slurm
