#include "orchestrator/cluster/why_ended.hpp"

#include <gtest/gtest.h>

#include "tests/support/mentions.hpp"

namespace hpo::cluster {
namespace {

int exited(int code) { return code << 8; }

TEST(WhyEnded, TellsTheLastLineOfSshWithTheCure) {
    const auto ssh = [](const std::string& line) { return why_ended("ssh", exited(255), line); };
    EXPECT_EQ(ssh("ssh: Could not resolve hostname gpu9: Name or service not known"),
              "ssh: Could not resolve hostname gpu9: Name or service not known; correct the name, or add it to "
              "~/.ssh/config");
    EXPECT_EQ(ssh("Host key verification failed."),
              "Host key verification failed; log in once by hand to accept its key");
    EXPECT_EQ(ssh("me@gpu1: Permission denied (publickey)."),
              "me@gpu1: Permission denied (publickey); let ssh log in without a question (ssh-copy-id, or an agent of "
              "keys)");
    EXPECT_EQ(ssh("Bad owner or permissions on config"), "Bad owner or permissions on config");
    EXPECT_EQ(ssh(""), "ssh exited with status 255");
}

TEST(WhyEnded, TellsThatThereIsNoHpo) {
    for (const char* program : {"ssh", "srun"})
        EXPECT_THAT(why_ended(program, exited(127), "/opt/hpo: not found"),
                    Mentions("neither", "PATH: /opt/hpo: not found", "install"));
}

TEST(WhyEnded, TellsThatHpoIsForAnotherKindOfProcessor) {
    for (const char* program : {"ssh", "srun"})
        for (const char* line : {"/opt/hpo: Exec format error", "/opt/hpo: cannot execute binary file"})
            EXPECT_THAT(why_ended(program, exited(126), line), Mentions("processor", line, "install", "PATH"));
    EXPECT_FALSE(cannot_be_started("ssh", exited(255)));
    EXPECT_FALSE(cannot_be_started("ssh", 9));
    EXPECT_FALSE(cannot_be_started("/opt/hpo", exited(127))) << "hpo itself, which has started";
    EXPECT_TRUE(cannot_be_started("srun", exited(126)));
}

TEST(WhyEnded, KnowsHostsThatCannotBeReached) {
    EXPECT_TRUE(cannot_reach("ssh", exited(255)));
    EXPECT_TRUE(cannot_reach("srun", exited(1)));
    EXPECT_FALSE(cannot_reach("ssh", exited(1))) << "the agent";
    EXPECT_FALSE(cannot_reach("srun", exited(137))) << "a killed agent";
    EXPECT_FALSE(cannot_reach("srun", exited(127))) << "no hpo there";
    EXPECT_FALSE(cannot_reach("ssh", 9));
    EXPECT_FALSE(cannot_reach("/opt/hpo", exited(1)));
    EXPECT_TRUE(heard_nothing(exited(agent_heard_nothing)));
    EXPECT_FALSE(heard_nothing(exited(1)));
}

TEST(TellingLine, IsTheLastThatDoesNotRepeatTheStatus) {
    EXPECT_EQ(telling_line("one\ntwo \r\n\n"), "two");
    const std::string status = "srun: error: node1: task 0: Exited with exit code 127";
    EXPECT_EQ(telling_line("why\n" + status + "\n"), "why");
    EXPECT_EQ(telling_line(status + "\nwhy\n"), "why");
    EXPECT_EQ(telling_line(status), status);
    EXPECT_EQ(telling_line(" \n"), "");
}

TEST(WhyEnded, TellsStatusAndSignalOfOthers) {
    EXPECT_EQ(why_ended("srun", exited(1), "srun: error: node down"),
              "its agent exited with status 1: srun: error: node down");
    EXPECT_THAT(why_ended("srun", exited(agent_heard_nothing), ""), Mentions("agent", "nothing", "25 s"));
    EXPECT_THAT(why_ended("/usr/bin/hpo", 9, ""), Mentions("agent", "signal 9"));
    EXPECT_EQ(why_ended("ssh", exited(0), ""), "its agent ended");
}

}  // namespace
}  // namespace hpo::cluster
