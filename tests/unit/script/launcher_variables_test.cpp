#include "orchestrator/script/launcher_variables.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

namespace hpo::script {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(OfLauncher, TheTaskOfSlurmGoesAndTheJobStays) {
    EXPECT_THAT(of_launcher({"SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_CPUS_ON_NODE",
                             "SLURMD_NODENAME", "PATH"}),
                UnorderedElementsAre("SLURM_PROCID", "SLURM_NTASKS"));
}

TEST(OfLauncher, WhatMpirunSetsGoes) {
    EXPECT_THAT(of_launcher({"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_MCA_ess", "PMIX_RANK",
                             "PMIX_SERVER_URI2", "OMPI_ALLOW_RUN_AS_ROOT", "HOME"}),
                UnorderedElementsAre("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_MCA_ess", "PMIX_RANK",
                                     "PMIX_SERVER_URI2"));
    EXPECT_THAT(of_launcher({"PMI_RANK", "PMI_FD"}), UnorderedElementsAre("PMI_RANK", "PMI_FD"));
}

TEST(OfLauncher, SettingsOfAUserStay) {
    EXPECT_THAT(of_launcher({"OMPI_MCA_btl", "PMIX_MCA_gds", "RANK", "LOCAL_RANK", "WORLD_SIZE"}), IsEmpty());
}

TEST(LeaveLauncher, ChangesTheEnvironmentOfThisProcess) {
    ::setenv("SLURM_PROCID", "3", 1);
    ::setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    ::setenv("SLURM_JOB_ID", "77", 1);
    leave_launcher();
    EXPECT_EQ(std::getenv("SLURM_PROCID"), nullptr);
    EXPECT_EQ(std::getenv("OMPI_COMM_WORLD_RANK"), nullptr);
    EXPECT_STREQ(std::getenv("SLURM_JOB_ID"), "77");
    ::unsetenv("SLURM_JOB_ID");
}

}  // namespace
}  // namespace hpo::script
