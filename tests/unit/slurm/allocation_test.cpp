#include "orchestrator/slurm/allocation.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <csignal>
#include <optional>

#include "hpo/interrupted.hpp"
#include "orchestrator/slurm/study_job.hpp"
#include "orchestrator/store/holder_lock.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo::slurm {
namespace {

class AnsweringSlurm final : public Commands {
   public:
    std::vector<std::string> ran;
    Answer answer{.status = 0};
    Answer run(const std::vector<std::string>& command) override {
        ran.push_back(command.at(0) + ' ' + command.at(1) + ' ' + command.at(2));
        return answer;
    }
    void pause(Seconds) override {}
};

class SlurmAllocation : public ::testing::Test {
   protected:
    testing::TemporaryFolder folder_;
    StudyFolder study_{folder_.path()};
    AnsweringSlurm slurm_;
    RunOutcome outcome_;

    SlurmAllocation() { outcome_.record.trials.resize(2); }
    int queue_again_from(const Progress& before) {
        return queue_again(slurm_, "12", study_, before, outcome_, "the time limit is near");
    }
};

TEST_F(SlurmAllocation, AsksSlurmToQueueTheJobAgain) {
    outcome_.record.trials[0].curve = {{.step = 3}};
    EXPECT_EQ(queue_again_from({0, 2}), 0);
    EXPECT_EQ(slurm_.ran, std::vector<std::string>{"scontrol requeue 12"});
}

TEST_F(SlurmAllocation, StopsAfterTwoJobsThatGotNowhere) {
    EXPECT_EQ(queue_again_from({0, 0}), 0);
    EXPECT_THROW(queue_again_from({0, 0}), Fatal);
    EXPECT_EQ(slurm_.ran.size(), 1U);
    EXPECT_EQ(queue_again_from({0, 0}), 0);  // the user has started the study again
    outcome_.record.trials[0].curve = {{.step = 1}};
    EXPECT_EQ(queue_again_from({0, 0}), 0);
    EXPECT_EQ(queue_again_from({0, 1}), 0);  // the job before made progress
    EXPECT_THROW(queue_again_from({0, 1}), Fatal);
}

TEST_F(SlurmAllocation, AJobThatEndsBehindAnEarlierOneGotNowhere) {
    outcome_.record.trials[0].curve = {{.step = 14}};
    EXPECT_EQ(queue_again_from({0, 41}), 0);
    outcome_.record.trials[0].curve = {{.step = 24}};
    EXPECT_THROW(queue_again_from({0, 14}), Fatal) << "24 is further than 14, but not than 41";
}

TEST_F(SlurmAllocation, AnIdleJobBeforeOneThatGotFurtherDoesNotCount) {
    outcome_.record.trials[0].curve = {{.step = 5}};
    EXPECT_EQ(queue_again_from({0, 5}), 0);
    outcome_.record.trials[0].curve = {{.step = 9}};
    EXPECT_EQ(queue_again_from({0, 9}), 0) << "a job that was cancelled has reached 9";
    EXPECT_THROW(queue_again_from({0, 9}), Fatal);
}

TEST_F(SlurmAllocation, OnlyWhatSlurmEndsGoesOn) {
    ::setenv("SLURM_JOB_NAME", job_name_of(study_).c_str(), 1);
    const StudyFolder other{folder_.path() / "other"};
    outcome_.end = Engine::End::failed;
    EXPECT_EQ(why_next_job(outcome_, study_), "");
    outcome_.no_host_left = true;
    EXPECT_THAT(why_next_job(outcome_, study_), Mentions("nodes", "lost"));
    EXPECT_EQ(why_next_job(outcome_, other), "");  // a job of the user's
    outcome_.no_host_worked = true;
    EXPECT_EQ(why_next_job(outcome_, study_), "");  // the script is missing there, say
    outcome_ = {};
    outcome_.end = Engine::End::interrupted;
    outcome_.signal = SIGTERM;
    EXPECT_EQ(why_next_job(outcome_, study_), "");  // scancel
    outcome_.end = SessionEnd::at_limit;
    EXPECT_EQ(why_next_job(outcome_, other), limit_reason);
    outcome_.end = SessionEnd::finished;
    EXPECT_EQ(why_next_job(outcome_, study_), "");
    ::unsetenv("SLURM_JOB_NAME");
}

/// Pauses of a second, in which another process goes on for some time.
class OtherProcess final : public Commands {
   public:
    std::optional<HolderLock> lock;
    int seconds = 0, ends_after = 0;
    Answer run(const std::vector<std::string>&) override { return {}; }
    void pause(Seconds) override {
        if (++seconds == ends_after) lock.reset();
    }
};

TEST_F(SlurmAllocation, WaitsForTheEndOfAnotherProcessThatRunsTheStudy) {
    OtherProcess other;
    EXPECT_TRUE(await_end_of_others(other, study_));
    EXPECT_EQ(other.seconds, 0);
    other.lock.emplace(*HolderLock::take(study_));
    other.ends_after = 3;
    EXPECT_TRUE(await_end_of_others(other, study_));
    EXPECT_EQ(other.seconds, 3);
    other.lock.emplace(*HolderLock::take(study_));
    limit_is_near = true;
    EXPECT_FALSE(await_end_of_others(other, study_)) << "the job is queued again";
    limit_is_near = false;
    other.seconds = 10;
    EXPECT_THROW((void)await_end_of_others(other, study_), Fatal);
    EXPECT_EQ(other.seconds, 10 + 600);
}

TEST_F(SlurmAllocation, AJobOfTheStudyOrOneThatBeginsAgainAwaitsOthers) {
    ::unsetenv("SLURM_JOB_NAME");
    ::unsetenv("SLURM_RESTART_COUNT");
    EXPECT_FALSE(awaits_others(study_));
    ::setenv("SLURM_JOB_NAME", "mine", 1);
    EXPECT_FALSE(awaits_others(study_));
    ::setenv("SLURM_RESTART_COUNT", "1", 1);
    EXPECT_TRUE(awaits_others(study_));
    ::unsetenv("SLURM_RESTART_COUNT");
    ::setenv("SLURM_JOB_NAME", job_name_of(study_).c_str(), 1);
    EXPECT_TRUE(awaits_others(study_));
    ::unsetenv("SLURM_JOB_NAME");
}

TEST_F(SlurmAllocation, ATrialThatBeginsAnewIsNoProgress) {
    outcome_.record.trials[0].curve = {{.step = 2}};
    EXPECT_EQ(queue_again_from({0, 3}), 0);
    EXPECT_THROW(queue_again_from({0, 3}), Fatal);
}

TEST_F(SlurmAllocation, AsksAgainOnlyWhereTheAnswerIsUnclear) {
    slurm_.answer = {.status = 1, .error = "Requested operation is presently disabled for job 12\n"};
    EXPECT_EQ(queue_again_from({0, 0}), 0);
    EXPECT_EQ(slurm_.ran.size(), 1U);
    slurm_.answer = {.hung = true};
    outcome_.record.trials[0].curve = {{.step = 3}};
    EXPECT_EQ(queue_again_from({0, 0}), 0);
    EXPECT_EQ(slurm_.ran.size(), 4U);
}

}  // namespace
}  // namespace hpo::slurm
