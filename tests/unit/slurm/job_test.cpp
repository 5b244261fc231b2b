#include "orchestrator/slurm/job.hpp"

#include <gtest/gtest.h>

namespace hpo::slurm {
namespace {

const JobRequest request{.study = "phase1",
                         .runs = "/home/me/runs",
                         .folder = "/home/me/runs/phase1",
                         .here = "/home/me",
                         .command = "/opt/hpo run study.yaml --on local"};

TEST(SlurmJob, TheScriptHasEveryOptionAndBecomesHpo) {
    const Job job = make_job({.partition = "gpu",
                              .account = "a1",
                              .qos = "long",
                              .nodes = 4,
                              .time = 7200,
                              .gpus = 2,
                              .cpus = 8,
                              .memory = (std::int64_t{16} << 30) + 1,
                              .extra = {"-C", "a|b", "--comment=two words"}},
                             request);
    EXPECT_EQ(job.script, R"(#!/bin/sh
#SBATCH --job-name=)" + job.name +
                              R"(
#SBATCH --partition=gpu
#SBATCH --account=a1
#SBATCH --qos=long
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=16385M
#SBATCH --gres=gpu:2
#SBATCH --time=120
#SBATCH --signal=B:USR1@60
#SBATCH --requeue
#SBATCH --dependency=singleton
#SBATCH --no-kill
#SBATCH --open-mode=append
#SBATCH --output=/home/me/runs/phase1/slurm.log
#SBATCH --chdir=/home/me
#SBATCH -C a|b
#SBATCH "--comment=two words"
trap '' USR1
export HPO_RUNS=/home/me/runs
exec /opt/hpo run study.yaml --on local
)");
}

TEST(SlurmJob, AWholeNodeIsTheDefault) {
    const Job job = make_job({}, request);
    EXPECT_NE(job.script.find("--nodes=1\n"), std::string::npos);
    EXPECT_NE(job.script.find("--exclusive\n#SBATCH --mem=0\n"), std::string::npos);
    for (const char* absent : {"--partition", "--time", "--gres", "--cpus-per-task", "--no-kill"})
        EXPECT_EQ(job.script.find(absent), std::string::npos) << absent;
    EXPECT_EQ(make_job({.cpus = 2}, request).script.find("--mem"), std::string::npos);
    EXPECT_EQ(make_job({.cpus = 2}, request).script.find("--exclusive"), std::string::npos);
}

TEST(SlurmJob, TheNameIsThatOfTheFolder) {
    const std::string name = job_name("phase1", "/home/me/runs/phase1");
    EXPECT_EQ(name.substr(0, 11), "hpo-phase1-");
    EXPECT_EQ(name.size(), 19U);
    EXPECT_EQ(job_name("phase1", "/home/me/./runs/phase1"), name);
    EXPECT_NE(job_name("phase1", "/home/you/runs/phase1"), name);
}

TEST(SlurmJob, AShortJobIsToldOfItsLimitLate) {
    EXPECT_EQ(seconds_before_limit({.time = 60}, 5), 10);
    EXPECT_EQ(seconds_before_limit({.time = 7200}, 5), 60);
    EXPECT_EQ(seconds_before_limit({}, 30), 85);
    EXPECT_EQ(seconds_before_limit({.time = 86400}, 3600), 655);
}

TEST(SlurmJob, PathsWithBlanksAndPercentSignsAreKept) {
    JobRequest odd = request;
    odd.folder = "/my runs/50%/phase1";
    odd.runs = "/my runs/50%";
    const std::string script = make_job({}, odd).script;
    EXPECT_NE(script.find("#SBATCH \"--output=/my runs/50%%/phase1/slurm.log\"\n"), std::string::npos) << script;
    EXPECT_NE(script.find("export HPO_RUNS='/my runs/50%'\n"), std::string::npos) << script;
}

}  // namespace
}  // namespace hpo::slurm
