// The pool of workers alone: starts, reservations, and workers that are ended for their silence.
#include "orchestrator/engine/worker_pool.hpp"

#include <gmock/gmock.h>

#include "tests/support/mentions.hpp"
#include "tests/support/played_executor.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using State = Worker::State;

class Pool : public ::testing::Test {
   protected:
    Pool() { resources_.progress_timeout = 100; }

    void greet(WorkerIndex index, std::int64_t slots = 1, std::vector<std::string> capabilities = {}) {
        pool_.launch(index, {}, host_only);
        EXPECT_TRUE(pool_.greet(index, {.pid = 7 + index, .slots = slots, .capabilities = std::move(capabilities)}));
    }
    Job& run(WorkerIndex index, std::int64_t trial, bool joins = false) {
        Job& job =
            pool_.reserve(index, joins, {.trial = trial, .footprint = {}, .fusion_key = "key"}, {.trial = trial});
        job.phase = Job::Phase::running;
        job.id.attempt = 1;
        job.begun = job.heard = clock_.now();
        return job;
    }
    void pass(double seconds) {
        clock_.advance(Seconds(seconds));
        pool_.end_silent();
    }

    Resources resources_;
    testing::PlayedExecutor executor_;
    ManualClock clock_;
    Placement placement_;
    WorkerPool pool_{resources_, executor_, clock_, placement_, 2};
};

TEST_F(Pool, AWorkerIsReadyOnceItHasSaidHello) {
    pool_.launch(0, {.description = "cores 0"}, host_only);
    EXPECT_TRUE(pool_.any_starting());
    EXPECT_THAT(executor_.launched, ElementsAre(0));
    EXPECT_TRUE(pool_.greet(0, {.pid = 7, .slots = 5000, .capabilities = {"plan"}}));
    EXPECT_FALSE(pool_.any_starting());
    EXPECT_TRUE(pool_.at(0).plans);
    EXPECT_FALSE(pool_.at(0).shrinks);
    EXPECT_EQ(pool_.at(0).slots, 1024U);
    EXPECT_EQ(pool_.at(0).environment, "cores 0");
    EXPECT_THAT(pool_.started(), ElementsAre(0));
    EXPECT_FALSE(pool_.greet(0, {.pid = 8})) << "a second hello";
}

TEST_F(Pool, NumbersTheWorkersOfEachHost) {
    pool_.launch(0, {.host = 1}, on_host(1));
    pool_.launch(1, {.host = 0}, on_host(0));
    EXPECT_EQ(pool_.at(0).number, 0);
    EXPECT_EQ(pool_.at(1).number, 0);
    pool_.remove(1);
    pool_.launch(1, {.host = 1}, on_host(1));
    EXPECT_EQ(pool_.at(1).number, 1);
}

TEST_F(Pool, HoldsATrialFromItsReservationUntilItIsLetGo) {
    greet(0);
    EXPECT_FALSE(pool_.busy());
    pool_.reserve(0, false, {}, {.trial = 3});
    EXPECT_TRUE(placement_.holds(3));
    EXPECT_TRUE(pool_.busy());
    EXPECT_THAT(pool_.running(), IsEmpty()) << "it has not begun";
    EXPECT_FALSE(pool_.can_take_trial(false)) << "one slot, which is reserved";
    pool_.let_go(0, {3, 0});
    EXPECT_FALSE(placement_.holds(3));
    EXPECT_TRUE(pool_.at(0).warm);
}

TEST_F(Pool, ATrialThatIsAskedAboutIsHeld) {
    greet(0, 1, {"plan"});
    pool_.ask_plan(0, {.id = 4});
    EXPECT_TRUE(placement_.holds(4));
    EXPECT_FALSE(pool_.can_take_trial(false));
    EXPECT_TRUE(executor_.take<to_worker::Plan>(0));
}

TEST_F(Pool, TellsPlacementWhatChanges) {
    (void)placement_.take_changed();
    pool_.launch(0, {}, 3, {4});
    EXPECT_TRUE(placement_.take_changed());
    EXPECT_EQ(placement_.worker(0), (PlacementWorker{.state = State::starting, .device = 3, .more = {4}}));
    EXPECT_TRUE(pool_.greet(0, {.pid = 7, .slots = 4, .capabilities = {"plan"}}));
    EXPECT_TRUE(placement_.worker(0).plans);
    EXPECT_TRUE(placement_.worker(0).idle());
    Job& job = pool_.reserve(0, false, {.trial = 1, .footprint = {}, .own_worker = true}, {.trial = 1});
    EXPECT_EQ(placement_.worker(0).trials, 1U);
    EXPECT_TRUE(placement_.worker(0).exclusive);
    (void)placement_.take_changed();
    pool_.resize(job, {}, false);
    EXPECT_FALSE(placement_.take_changed()) << "it holds what it held";
    pool_.resize(job, {1, 2, 3}, false);
    EXPECT_TRUE(placement_.take_changed());
    pool_.remove(0);
    EXPECT_EQ(placement_.worker(0), PlacementWorker{});
    EXPECT_FALSE(placement_.holds(1));
}

TEST_F(Pool, TheBaseMemoryOfAWorkerPassesToARemainingJob) {
    greet(0, 4);
    const AttemptId first = run(0, 1).id;
    const AttemptId second = run(0, 2, true).id;
    const AttemptId third = run(0, 3, true).id;
    EXPECT_TRUE(pool_.at(0).shared);
    EXPECT_EQ(pool_.let_go(0, third), nullptr) << "the first carries it";
    const Job* heir = pool_.let_go(0, first);
    ASSERT_NE(heir, nullptr);
    EXPECT_EQ(heir->id, second);
    EXPECT_FALSE(heir->joins);
    EXPECT_EQ(pool_.let_go(0, second), nullptr) << "nobody is left";
    EXPECT_EQ(pool_.at(0).fusion_key, "");
    EXPECT_FALSE(pool_.at(0).shared);
}

TEST_F(Pool, ASilentAttemptEndsItsWorkerAndIsChargedForIt) {
    greet(0);
    const AttemptId id = run(0, 1).id;
    pass(60);
    pool_.note_life(0, from_worker::Reported{id, {}});
    pass(60);
    EXPECT_THAT(executor_.terminated, IsEmpty());
    pass(60);
    EXPECT_THAT(executor_.terminated, ElementsAre(0));
    EXPECT_EQ(pool_.at(0).culprit, id);
    EXPECT_THAT(pool_.at(0).kill_reason, Mentions("silent", "100 s"));
}

TEST_F(Pool, MessagesOfOneAttemptKeepNoOtherAlive) {
    greet(0, 2);
    const AttemptId first = run(0, 1).id, second = run(0, 2, true).id;
    pass(60);
    pool_.note_life(0, from_worker::Reported{second, {}});
    pass(60);
    EXPECT_EQ(pool_.at(0).culprit, first);
}

TEST_F(Pool, AnAttemptThatWasToldToEndHasAMinuteUnlessItTookAllItsSteps) {
    greet(0), greet(1);
    Job& stopped = run(0, 1);
    Job& complete = run(1, 2);
    stopped.phase = complete.phase = Job::Phase::ending;
    complete.complete = true;
    pass(61);
    EXPECT_THAT(executor_.terminated, ElementsAre(0));
    EXPECT_EQ(pool_.at(0).culprit.trial, 0) << "its trial has ended, and is not charged";
    pass(40);
    EXPECT_THAT(executor_.terminated, ElementsAre(0, 1));
}

TEST_F(Pool, AWorkerThatDoesNotSayHelloOrDoesNotAnswerIsEnded) {
    pool_.launch(0, {}, host_only);
    greet(1, 1, {"plan"});
    pool_.ask_plan(1, {.id = 9});
    pass(101);
    EXPECT_THAT(executor_.terminated, ElementsAre(0, 1));
    EXPECT_EQ(pool_.at(1).culprit.trial, 9);
}

TEST_F(Pool, AWorkerThatRetiresHasItsTimeToExitAndNoMore) {
    greet(0);
    pool_.retire(0);
    EXPECT_TRUE(executor_.take<to_worker::Shutdown>(0));
    pass(99);
    EXPECT_THAT(executor_.terminated, IsEmpty());
    pass(2);
    EXPECT_THAT(executor_.terminated, ElementsAre(0));
}

TEST_F(Pool, SilenceWhileThisProcessWasHeldUpDoesNotCount) {
    greet(0);
    run(0, 1);
    clock_.advance(Seconds(1000));
    pool_.forgive_silence();
    pass(1);
    EXPECT_THAT(executor_.terminated, IsEmpty());
}

TEST_F(Pool, TheFirstReasonToEndAWorkerStands) {
    greet(0);
    pool_.end(0, "first", {1, 1});
    pool_.end(0, "second", {2, 1});
    EXPECT_EQ(pool_.at(0).kill_reason, "first");
    EXPECT_EQ(pool_.at(0).culprit.trial, 1);
    const Worker gone = pool_.remove(0);
    EXPECT_EQ(gone.state, State::leaving);
    EXPECT_TRUE(pool_.empty());
}

TEST_F(Pool, OneIdleWorkerStaysWhereMemoryIsWanted) {
    greet(0), greet(1);
    pool_.end_idle_but_one("memory");
    EXPECT_THAT(executor_.terminated, ElementsAre(1));
}

TEST_F(Pool, TheIdleWorkerThatStaysIsOnAHostThatAnswers) {
    greet(0), greet(1);
    pool_.set_reachable(0, false);
    EXPECT_EQ(pool_.idle_to_reuse(), 1);
    pool_.end_idle_but_one("memory");
    EXPECT_THAT(executor_.terminated, ElementsAre(0));
}

}  // namespace
}  // namespace hpo
