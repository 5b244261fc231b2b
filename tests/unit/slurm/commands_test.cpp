#include "orchestrator/slurm/commands.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace hpo::slurm {
namespace {

TEST(SlurmCommands, ReturnsStatusAndBothOutputs) {
    RealCommands commands(Seconds(60));
    const Answer answer = commands.run({"sh", "-c", "echo out; echo error >&2; exit 3"});
    EXPECT_EQ(answer.status, 3);
    EXPECT_EQ(answer.out, "out\n");
    EXPECT_EQ(answer.error, "error\n");
    EXPECT_FALSE(answer.hung);
}

TEST(SlurmCommands, TakesInMoreThanAPipeHolds) {
    RealCommands commands(Seconds(60));
    EXPECT_EQ(commands.run({"head", "-c", "1000000", "/dev/zero"}).out.size(), 1000000U);
}

TEST(SlurmCommands, KillsWhatHangsWithItsChildren) {
    RealCommands commands(Seconds(0.1));
    const Answer answer = commands.run({"sh", "-c", "sleep 600 & wait"});
    EXPECT_TRUE(answer.hung);
    EXPECT_FALSE(answer.status);
}

TEST(SlurmCommands, DoesNotWaitForAChildThatKeepsTheOutputOpen) {
    RealCommands commands(Seconds(60));
    EXPECT_EQ(commands.run({"sh", "-c", "echo 12; exec sleep 3 & exit 0"}).out, "12\n");
}

TEST(SlurmCommands, SaysThatAProgramIsMissing) {
    RealCommands commands(Seconds(60));
    EXPECT_TRUE(commands.run({"no-such-program-of-slurm"}).missing);
}

TEST(SlurmCommands, GivesUpWhenTold) {
    RealCommands commands(Seconds(600));
    commands.give_up();
    EXPECT_TRUE(commands.run({"sleep", "600"}).hung);
    commands.pause(Seconds(600));
}

TEST(SlurmCommands, DropsVariablesThatChangeTheOutput) {
    ::setenv("SQUEUE_PARTITION", "other", 1);
    ::setenv("SBATCH_ACCOUNT", "mine", 1);
    RealCommands commands(Seconds(60));
    EXPECT_EQ(commands.run({"sh", "-c", "echo \"$SQUEUE_PARTITION$SBATCH_ACCOUNT\""}).out, "mine\n");
    ::unsetenv("SQUEUE_PARTITION");
    ::unsetenv("SBATCH_ACCOUNT");
}

}  // namespace
}  // namespace hpo::slurm
