#include "orchestrator/slurm/job.hpp"

#include <gtest/gtest.h>

namespace hpo::slurm {
namespace {

const JobRequest request{.name = job_name("phase1", "/home/me/runs/phase1"),
                         .runs = "/home/me/runs",
                         .folder = "/home/me/runs/phase1",
                         .here = "/home/me",
                         .program = "/opt/hpo",
                         .file = "study.yaml",
                         .options = "--on local",
                         .same_file = "/home/me/study.yaml"};

Job made(const SlurmJob& job, const JobRequest& asked = request) { return *make_job(job, asked); }

TEST(SlurmJob, TheScriptHasEveryOptionAndBecomesHpo) {
    const Job job = made({.partition = "gpu",
                          .account = "a1",
                          .qos = "long",
                          .nodes = 4,
                          .time = 7200,
                          .gpus = 2,
                          .cpus = 8,
                          .memory = (std::int64_t{16} << 30) + 1,
                          .extra = {"-C", "a|b", "--comment=two words"}},
                         request);
    const std::size_t digest = job.script.find("# hpo run compares: ");
    ASSERT_NE(digest, std::string::npos);
    std::string script = job.script;
    script.erase(digest, script.find('\n', digest) + 1 - digest);
    EXPECT_EQ(script, R"(#!/bin/sh
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
echo "job $SLURM_JOB_ID begins on $SLURMD_NODENAME"
exec /opt/hpo run study.yaml --on local
)");
}

TEST(SlurmJob, AWholeNodeIsTheDefault) {
    const Job job = made({});
    EXPECT_NE(job.script.find("--nodes=1\n"), std::string::npos);
    EXPECT_NE(job.script.find("--exclusive\n#SBATCH --mem=0\n"), std::string::npos);
    for (const char* absent : {"--partition", "--time", "--gres", "--cpus-per-task", "--no-kill"})
        EXPECT_EQ(job.script.find(absent), std::string::npos) << absent;
    EXPECT_EQ(made({.cpus = 2}).script.find("--mem"), std::string::npos);
    EXPECT_EQ(made({.cpus = 2}).script.find("--exclusive"), std::string::npos);
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
    const std::string script = made({}, odd).script;
    EXPECT_NE(script.find("#SBATCH \"--output=/my runs/50%%/phase1/slurm.log\"\n"), std::string::npos) << script;
    EXPECT_NE(script.find("export HPO_RUNS='/my runs/50%'\n"), std::string::npos) << script;
}

TEST(SlurmJob, APathThatSlurmCannotTakeIsRefused) {
    JobRequest odd = request;
    odd.folder = "/home/me/a\\b/phase1";
    EXPECT_EQ(make_job({}, odd).error().message,
              "a job of Slurm cannot write to the path '/home/me/a\\b/phase1/slurm.log', which has a backslash: use "
              "another folder, or set HPO_RUNS to one");
    odd = request;
    odd.here = "/home/me/two\nlines";
    const auto refused = make_job({}, odd);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "a job of Slurm cannot use the path '/home/me/two\\x0alines', which has a line break or another control "
              "character: use another folder");
    EXPECT_FALSE(make_job({.extra = {"--comment=a\nb"}}, request));
}

TEST(SlurmJob, TheSpellingOfPathsAsksForNothingElse) {
    const std::string script = made({.cpus = 2}).script;
    JobRequest other = request;
    other.file = "/home/me/./study.yaml";
    other.runs = "/link/runs";
    other.folder = "/link/runs/phase1";
    other.here = "/tmp";
    EXPECT_NE(made({.cpus = 2}, other).script, script);
    EXPECT_FALSE(asks_for_others(made({.cpus = 2}, other).script, script));
    other.file = "phase1";
    other.same_file = "";
    EXPECT_FALSE(asks_for_others(made({.cpus = 2}, other).script, script)) << "the study is named";
    EXPECT_TRUE(asks_for_others(script, made({.cpus = 2}, other).script)) << "the job reads the stored file";
}

TEST(SlurmJob, OtherOptionsAskForOthers) {
    const std::string script = made({.cpus = 2}).script;
    EXPECT_TRUE(asks_for_others(made({.cpus = 3}).script, script));
    EXPECT_TRUE(asks_for_others(made({.cpus = 2, .extra = {"--comment=x"}}).script, script));
    JobRequest other = request;
    other.options = "--trials 8 --on local";
    EXPECT_TRUE(asks_for_others(made({.cpus = 2}, other).script, script));
    other = request;
    other.same_file = "/home/me/other.yaml";
    EXPECT_TRUE(asks_for_others(made({.cpus = 2}, other).script, script));
    EXPECT_TRUE(asks_for_others(script, "#!/bin/sh\n"));
}

}  // namespace
}  // namespace hpo::slurm
