// The text with which a session tells why it waits.
#include "orchestrator/engine/waiting_for.hpp"

#include <gmock/gmock.h>

#include "tests/support/mentions.hpp"
#include "tests/support/played_executor.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;

class WaitingFor : public ::testing::Test {
   protected:
    void greet(WorkerIndex index) {
        pool_.launch(index, {}, host_only);
        EXPECT_TRUE(pool_.greet(index, {.pid = 7 + index, .slots = 2, .capabilities = {"plan"}}));
    }
    Job& give(WorkerIndex index, std::int64_t trial, Job::Phase phase) {
        Job& job = pool_.reserve(index, true, {}, {.trial = trial});
        job.phase = phase;
        job.begun = job.heard = clock_.now();
        return job;
    }
    [[nodiscard]] std::vector<std::string> lines(const SessionState& state = {}) const {
        return waiting_for(pool_, state, clock_.now());
    }

    Resources resources_;
    testing::PlayedExecutor executor_;
    ManualClock clock_;
    Placement placement_;
    WorkerPool pool_{resources_, executor_, clock_, placement_, 3};
};

TEST_F(WaitingFor, EachTrialIsTherWithItsWorkerAndItsLastSignOfLife) {
    greet(0);
    give(0, 4, Job::Phase::running);
    clock_.advance(Seconds(2));
    give(0, 5, Job::Phase::ending);
    greet(1);
    clock_.advance(Seconds(0.5));
    EXPECT_THAT(lines({.queued = 1, .paused = 3}),
                ElementsAre(MentionsInOrder("worker 0 (process 7): trial 4", "2.5 s, ", "2.5 s ago", "trial 5", "end",
                                            "0.5 s ago"),
                            "worker 1 (process 8) is idle", "1 trial queued, 3 paused"));
}

TEST_F(WaitingFor, WorkersThatStartAndThatLeaveAreThere) {
    pool_.launch(0, {}, host_only);
    greet(1);
    pool_.end(1, "interrupted");
    greet(2);
    pool_.ask_plan(2, {.id = 9});
    clock_.advance(Seconds(7));
    EXPECT_THAT(lines({.ends = "interrupted"}),
                ElementsAre("the session ends: interrupted", "worker 0 starts, for 7.0 s, and has not said hello",
                            Mentions("worker 1 (process 8)", "leave", "(interrupted)", "not ended"),
                            MentionsInOrder("worker 2 (process 9)", "requirements", "trial 9")));
}

TEST_F(WaitingFor, WithoutWorkersTheRestIsTold) {
    EXPECT_THAT(lines({.proposing = 12, .diagnoses = 2, .waits = "trial 3 waits for 2 GiB"}),
                ElementsAre("no worker lives", "the sampler computes the parameters of trial 12",
                            Mentions("diagnosis", "pending: 2 workers", "died"), "trial 3 waits for 2 GiB"));
}

TEST_F(WaitingFor, TheStoreTellsWhatIsNotOnTheDiskAndWhoLocksIt) {
    EXPECT_THAT(waiting_for(StoreState{}), ElementsAre("the study's database is up to date"));
    EXPECT_THAT(waiting_for(StoreState{.unwritten = true,
                                       .not_on_disk = 1,
                                       .failed = "no space",
                                       .lockers = "process 5 of ada (python3)",
                                       .announcements = 2}),
                ElementsAre(MentionsInOrder("database", "cannot be written", ": ", "no space"),
                            MentionsInOrder("database", "locked", "process 5", "ada (python3)"),
                            "events wait to be written to the study's database", "1 result is on the way to the disk",
                            MentionsInOrder("2 messages", "wait", "disk")));
}

}  // namespace
}  // namespace hpo
