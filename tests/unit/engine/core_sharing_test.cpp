// Cores of workers that have nothing to train go to those that train, and the first trial begins with several.
#include <gtest/gtest.h>

#include "orchestrator/engine/workers.hpp"
#include "tests/unit/engine/played.hpp"

namespace hpo::testing {
namespace {

using Cores = std::vector<std::int64_t>;

/// Native workers as far as cores are concerned; each is bound to one.
class Sharing : public ::testing::Test {
   protected:
    Sharing() { study.budget.trials = 3; }

    void begin(int workers) {
        std::vector<std::vector<int>> cores;
        for (int core = 0; core < workers; ++core) cores.push_back({core});
        played.emplace(study, store, workers, small_machine(), PlayedParts{.cores = cores});
        for (int index = 0; index < workers; ++index) played->ready(index, {"cores"});
    }
    /// Returns the last cores that the worker was told since the last call; empty: none.
    Cores told(WorkerIndex index) {
        Cores last;
        while (const auto message = played->executor.take<to_worker::Cores>(index)) last = message->cores;
        return last;
    }

    Study study = small_study();
    MemoryStore store;
    std::optional<Played> played;
};

TEST_F(Sharing, TheFirstTrialHasTheCoresBeforeOthersBegin) {
    begin(2);
    const AttemptId first = played->asked(0);
    EXPECT_EQ(first.trial, 1);
    EXPECT_EQ(played->asked(1).trial, 0);
    EXPECT_EQ(told(0), (Cores{0, 1}));
    EXPECT_EQ(played->notices, "trains on 2 cores before others begin\n");
    played->tick();
    EXPECT_EQ(told(0), Cores{}) << "nothing has changed";
    played->complete(0, first);
    EXPECT_EQ(played->asked(0).trial, 2);
    EXPECT_EQ(told(0), Cores{0}) << "the other worker is being started";
    played->ready(1, {"cores"});
    EXPECT_EQ(played->asked(1).trial, 3);
}

TEST_F(Sharing, TheFirstTrialHasNoMoreThanFourCores) {
    study.budget.trials = 10;
    begin(6);
    EXPECT_EQ(played->asked(0).trial, 1);
    EXPECT_EQ(played->asked(1).trial, 2);
    EXPECT_EQ(played->asked(2).trial, 3);
    EXPECT_EQ(played->asked(3).trial, 0);
    EXPECT_EQ(told(0).size() + told(1).size() + told(2).size(), 6u);
}

TEST_F(Sharing, AsManyTrialsAsTheStudyAsksForBeginAtOnce) {
    study.resources.parallel = 2;
    begin(2);
    EXPECT_EQ(played->asked(0).trial, 1);
    EXPECT_EQ(played->asked(1).trial, 2);
    EXPECT_EQ(told(0), Cores{});
}

TEST_F(Sharing, TheLastTrialHasTheCoresOfWorkersThatHaveNothingLeft) {
    study.resources.parallel = 2;
    begin(2);
    played->complete(0, played->asked(0));
    const AttemptId second = played->asked(1);
    EXPECT_EQ(told(1), Cores{});
    const AttemptId third = played->asked(0);
    ASSERT_EQ(third.trial, 3);
    played->complete(0, third);
    EXPECT_EQ(told(1), Cores{}) << "a trial may be on its way";
    played->tick();
    EXPECT_EQ(told(1), (Cores{1, 0}));
    played->complete(1, second);
}

TEST_F(Sharing, AWorkerThatComputesOnOneThreadIsToldNothing) {
    study.resources.parallel = 2;
    study.budget.trials = 1;
    played.emplace(study, store, 2, small_machine(), PlayedParts{.cores = {{0}, {1}}});
    played->ready(0);
    played->tick(Seconds(5));
    EXPECT_EQ(played->asked(0).trial, 1);
    EXPECT_EQ(told(0), Cores{});
}

TEST_F(Sharing, AResumedStudyThatHasACompleteTrialBeginsWithAll) {
    begin(2);
    played->complete(0, played->asked(0));
    played->end_session(1);
    begin(2);
    EXPECT_NE(played->asked(0).trial, 0);
    EXPECT_NE(played->asked(1).trial, 0);
}

TEST(CoresOfWorkers, AreThoseToWhichNativeWorkersAreBoundWithinTheQuota) {
    Study study;
    Host host{.cpus = {0, 1, 2, 3}, .cores = 4};
    const auto cores = [&] { return cores_of_workers(study, plan_workers(study, host)); };
    using Cores = std::vector<std::vector<int>>;
    EXPECT_EQ(cores(), (Cores{{0}, {1}, {2}, {3}}));
    study.resources.parallel = 2;
    EXPECT_EQ(cores(), (Cores{{0, 1}, {2, 3}}));
    host.cores = 2.5;
    EXPECT_EQ(cores(), (Cores{{0}, {2}})) << "more threads would use up the quota and be halted";
    study.resources.parallel = 1;
    EXPECT_EQ(cores(), (Cores{{0, 1}}));
    study.worker = ScriptWorker{.command = {"script"}};
    EXPECT_EQ(cores(), Cores{});
}

}  // namespace
}  // namespace hpo::testing
