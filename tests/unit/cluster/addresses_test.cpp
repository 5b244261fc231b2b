// The hosts that --on names, and lists as Slurm writes them.
#include "orchestrator/cluster/addresses.hpp"
#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>

#include <map>

namespace hpo::cluster {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Environment variables(std::map<std::string, std::string> all) {
    return [all = std::move(all)](const char* name) -> std::optional<std::string> {
        const auto found = all.find(name);
        return found == all.end() ? std::nullopt : std::optional(found->second);
    };
}

TEST(Slurm, ListsOfNodesAreExpanded) {
    EXPECT_THAT(*nodes_of("n1"), ElementsAre("n1"));
    EXPECT_THAT(*nodes_of("n[1-3,7],login"), ElementsAre("n1", "n2", "n3", "n7", "login"));
    EXPECT_THAT(*nodes_of("gpu[08-11]-ib"), ElementsAre("gpu08-ib", "gpu09-ib", "gpu10-ib", "gpu11-ib"));
    for (const char* wrong : {"", "n[1-", "n[1-2][3-4]", "n[3-1]", "n[a-b]", "n[1-99999]", "a,,b"})
        EXPECT_FALSE(nodes_of(wrong)) << wrong;
}

TEST(Slurm, AnAllocationOfSeveralNodesIsRecognised) {
    EXPECT_FALSE(in_allocation_of_several(variables({})));
    EXPECT_FALSE(in_allocation_of_several(variables({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n1"}})));
    EXPECT_TRUE(in_allocation_of_several(variables({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n[1-2]"}})));
}

TEST(Addresses, OfSlurmAreOneStepANodeThatAsksForNoCores) {
    const auto hosts =
        addresses_of("slurm", "/bin/hpo", variables({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n[1-2]"}}));
    ASSERT_TRUE(hosts);
    ASSERT_EQ(hosts->size(), 2U);
    EXPECT_EQ((*hosts)[1].name, "n2");
    EXPECT_THAT((*hosts)[1].command,
                ElementsAre("srun", "-u", "-N1", "-n1", "-w", "n2", "--overlap", "--cpu-bind=none", "/bin/sh", "-c",
                            AllOf(HasSubstr("'/bin/hpo'"), HasSubstr("__agent"))));
    EXPECT_THAT(addresses_of("slurm", "/bin/hpo", variables({})).error().message, HasSubstr("allocation"));
}

TEST(Addresses, OfSshRunOneShellEach) {
    const auto hosts = addresses_of("ssh:a,me@b", "/opt/it's/hpo", variables({}));
    ASSERT_TRUE(hosts);
    EXPECT_EQ((*hosts)[1].name, "me@b");
    EXPECT_EQ((*hosts)[0].command.front(), "ssh");
    EXPECT_THAT((*hosts)[0].command, ::testing::Contains("BatchMode=yes"));
    EXPECT_THAT((*hosts)[0].command.back(), HasSubstr("__agent"));
}

TEST(Addresses, OfThisMachineAreAsManyAgents) {
    const auto hosts = addresses_of("local:2", "/bin/hpo", variables({}));
    ASSERT_TRUE(hosts);
    EXPECT_EQ((*hosts)[1].name, "local-2");
    EXPECT_THAT((*hosts)[1].command, ElementsAre("/bin/hpo", "__agent"));
}

TEST(Addresses, OthersAreRefusedWithTheCure) {
    for (const char* wrong : {"", "local:0", "local:x", "local:1000", "ssh:", "ssh:-oProxyCommand=x", "ssh:a,a",
                              "ssh:a b", "k8s:x", "slurm:3"})
        EXPECT_FALSE(addresses_of(wrong, "/bin/hpo", variables({}))) << wrong;
    EXPECT_THAT(addresses_of("slrum", "/bin/hpo", variables({})).error().message,
                Mentions("--on slrum: ", "slurm, ssh:HOST,HOST, local:2, local", "join", "slurm?"));
    for (const char* on : {"join,local", "ssh:a,join"})
        EXPECT_THAT(addresses_of(on, "/bin/hpo", variables({})).error().message, Mentions("join", "alone"));
}

}  // namespace
}  // namespace hpo::cluster
