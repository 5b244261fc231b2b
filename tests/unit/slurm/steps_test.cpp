#include "orchestrator/slurm/steps.hpp"

#include <gtest/gtest.h>

#include "tests/support/mentions.hpp"

namespace hpo::slurm {
namespace {

using Next = Decision::Next;

JobState job(const char* state, const char* id = "12") { return {.id = id, .state = state}; }

Answer answer(int status, std::string out, std::string error = "") {
    return {.status = status, .out = std::move(out), .error = std::move(error)};
}

TEST(SlurmSteps, OnlyAnIdOrARefusalIsAClearReply) {
    using Kind = Reply::Kind;
    EXPECT_EQ(reply_of(answer(0, "12\n")).kind, Kind::accepted);
    EXPECT_EQ(reply_of(answer(0, "12;alpha\n")).text, "12");
    EXPECT_EQ(reply_of(answer(0, "")).kind, Kind::unclear);
    EXPECT_EQ(reply_of(answer(1, "", "sbatch: error: Batch job submission failed: Invalid qos specification\n")).kind,
              Kind::refused);
    EXPECT_EQ(
        reply_of(answer(1, "", "sbatch: error: Batch job submission failed: Socket timed out on send/recv\n")).kind,
        Kind::unclear);
    EXPECT_EQ(reply_of(answer(1, "")).kind, Kind::unclear);
    EXPECT_EQ(reply_of({.hung = true}).kind, Kind::unclear);
    EXPECT_EQ(reply_of({}).kind, Kind::unclear);  // a signal ended it
    EXPECT_EQ(reply_of({.missing = true}).kind, Kind::refused);
}

TEST(SlurmSteps, FollowsTheOldestJobAndFindsThoseThatAreTooMany) {
    EXPECT_FALSE(find_job({}, {}).job);
    EXPECT_FALSE(find_job({job("FAILED"), job("CANCELLED", "13")}, {"12", "13"}).job);
    const Found found = find_job({job("PENDING", "101"), job("RUNNING", "99"), job("COMPLETED", "98")}, {"98"});
    EXPECT_EQ(found.job->id, "99");
    EXPECT_EQ(found.surplus, std::vector<std::string>{"101"});
    const Found next = find_job({job("PENDING", "101"), job("COMPLETING", "99")}, {"99"});
    EXPECT_EQ(next.job->id, "101");
    EXPECT_TRUE(next.surplus.empty());
    EXPECT_EQ(find_job({job("COMPLETING")}, {}).job->id, "12");
    EXPECT_EQ(find_job({job("COMPLETED"), job("FAILED", "11")}, {"11"}).job->id, "12");  // the job was over at once
}

TEST(SlurmSteps, WaitsWhileTheJobIsThere) {
    for (const char* state : {"PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "COMPLETING", "REQUEUED"})
        EXPECT_EQ(decide({.job = job(state), .finished = true}).next, Next::wait) << state;
}

TEST(SlurmSteps, ConcludesWhenTheStudyIsFinishedOrHpoEndedInOrder) {
    for (const char* state : {"COMPLETED", "TIMEOUT", "CANCELLED", "FAILED", "NODE_FAIL"})
        EXPECT_EQ(decide({.job = job(state), .finished = true}).next, Next::conclude) << state;
    EXPECT_EQ(decide({.finished = true}).next, Next::conclude);
    EXPECT_EQ(decide({.job = job("COMPLETED")}).next, Next::conclude);  // its time is used up, or hpo stop
}

TEST(SlurmSteps, SubmitsTheNextJobAfterAnEndThatIsNobodysFault) {
    for (const char* state : {"TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL"}) {
        EXPECT_EQ(decide({.job = job(state), .progressed = true}).next, Next::submit_again) << state;
        EXPECT_EQ(decide({.job = job(state)}).next, Next::fail) << state;
    }
    EXPECT_EQ(decide({.job = job("COMPLETED"), .at_limit = true, .progressed = true}).next, Next::submit_again);
}

TEST(SlurmSteps, DoesNotSubmitAfterAFailureOrACancellation) {
    EXPECT_EQ(decide({.job = job("CANCELLED"), .progressed = true}).next, Next::cancelled);
    EXPECT_EQ(decide({.job = job("FAILED"), .progressed = true}).next, Next::failed);
    EXPECT_EQ(decide({.job = job("OUT_OF_MEMORY"), .progressed = true}).next, Next::fail);
    EXPECT_EQ(decide({.progressed = true}).next, Next::fail);  // Slurm no longer knows the job
}

TEST(SlurmSteps, AsksSlurmSeldom) {
    EXPECT_GE(ask_again_after(job("RUNNING"), true, false), 10);
    EXPECT_GE(ask_again_after(job("PENDING"), true, false), 5);
    EXPECT_GE(ask_again_after(job("PENDING"), true, true), 5);  // the job is queued again
    EXPECT_LE(ask_again_after(job("RUNNING"), true, true), 2);
    EXPECT_LE(ask_again_after(job("COMPLETING"), true, false), 2);
    EXPECT_GE(ask_again_after(std::nullopt, false, true), 10);
}

TEST(SlurmSteps, QueuesTheStudyAgainUnlessTwoJobsGotNowhere) {
    EXPECT_EQ(refuses_next_job({.progressed = true, .idle_before = true}), "");
    EXPECT_EQ(refuses_next_job({.progressed = false, .idle_before = false}), "");
    EXPECT_NE(refuses_next_job({.progressed = false, .idle_before = true}), "");
}

TEST(SlurmSteps, SaysWhyACommandGaveNoAnswer) {
    EXPECT_EQ(failure_of("squeue", answer(0, "")), "");
    EXPECT_THAT(failure_of("squeue", {.missing = true}), Mentions("no squeue", "PATH", "login", "module"));
    EXPECT_THAT(failure_of("squeue", {.hung = true, .limit = Seconds(2.5)}),
                MentionsInOrder("(squeue", "not end", "2.5s)", "HPO_SLURM_TIMEOUT", "more"));
    EXPECT_THAT(failure_of("squeue", {}), MentionsInOrder("(squeue", "killed)", "later"));
    EXPECT_EQ(failure_of("squeue", answer(1, "", "slurm_load_jobs error: Unable to contact slurm controller\n")),
              "Slurm does not answer (squeue: Unable to contact slurm controller): try again later");
}

}  // namespace
}  // namespace hpo::slurm
