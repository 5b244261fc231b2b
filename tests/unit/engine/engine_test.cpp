// The engine's loop with fake workers, without processes and without a disk.
#include "orchestrator/engine/engine.hpp"

#include <cmath>
#include <csignal>
#include <semaphore>

#include "tests/unit/engine/played.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using hpo::testing::BegunTrial;
using hpo::testing::MemoryStore;
using hpo::testing::Played;
using hpo::testing::ReadyWorker;
using hpo::testing::small_study;
using ::testing::AllOf;
using ::testing::HasSubstr;

class EngineTest : public hpo::testing::OneStore {};

TEST_F(EngineTest, AMachineThatStandsStillBeforeTheFirstTickSilencesNoWorker) {
    study.resources.progress_timeout = 60;
    Played play(study, store, 1);
    play.tick(Seconds(1000));
    EXPECT_THAT(play.executor.terminated, ::testing::IsEmpty());
}

TEST(OutboxTest, AWorkerDoesNotGetMessagesToTheOneThatHadItsIndexBefore) {
    hpo::testing::PlayedExecutor executor;
    Outbox outbox(executor);
    outbox.send(0, to_worker::Run{});
    outbox.send(1, to_worker::Stop{});
    outbox.launch(0, {});
    outbox.send(0, to_worker::Shutdown{});
    outbox.release();
    ASSERT_EQ(executor.sent[0].size(), 1U);
    EXPECT_TRUE(std::holds_alternative<to_worker::Shutdown>(executor.sent[0].front()));
    EXPECT_EQ(executor.sent[1].size(), 1U);
}

TEST_F(EngineTest, RunsTheBudgetOneAfterTheOtherInAWarmWorker) {
    Played play(study, store, 1);
    ASSERT_EQ(play.executor.launched.size(), 1u);
    play.ready(0);
    for (std::int64_t trial = 1; trial <= 3; ++trial) {
        const AttemptId id = play.asked(0);
        EXPECT_EQ(id, (AttemptId{trial, 1}));
        play.complete(0, id);
        EXPECT_EQ(play.trial(trial).state, TrialState::complete);
        EXPECT_EQ(play.trial(trial).value, 0.4);
    }
    EXPECT_EQ(play.executor.launched.size(), 1u);
    EXPECT_FALSE(play.engine->done()) << "the worker has not left yet";
    EXPECT_TRUE(play.executor.terminated.contains(0));
    play.exit(0, 0);
    EXPECT_TRUE(play.engine->done());
    EXPECT_EQ(play.engine->end(), Engine::End::finished);
}

TEST_F(EngineTest, ATrialProposedInTheBackgroundStartsOnceTheProposalIsReady) {
    study.sampler.type = "tpe";
    MemoryStore other_store;
    std::counting_semaphore<> proposals{0};
    Played play(study, store, 1, testing::small_machine(), {.proposal_ready = [&] { proposals.release(); }});
    for (std::int64_t trial = 1; trial <= 3; ++trial) {
        proposals.acquire();
        play.engine->proposal_ready(), play.engine->end_round();
        if (trial == 1) play.ready(0);
        const AttemptId id = play.asked(0);
        ASSERT_EQ(id, (AttemptId{trial, 1}));
        play.complete(0, id);
    }
    play.exit(0, 0);
    EXPECT_TRUE(play.engine->done());
    EXPECT_EQ(play.engine->end(), Engine::End::finished);

    Played at_once(study, other_store, 1);
    at_once.ready(0);
    for (std::int64_t trial = 1; trial <= 3; ++trial) {
        at_once.complete(0, at_once.asked(0));
        EXPECT_EQ(play.trial(trial).params, at_once.trial(trial).params);
    }
}

/// A store that holds added events back until a flush. It counts its transactions and can fail them.
class WaitingStore final : public hpo::testing::MemoryStore {
   public:
    Result<StoredEvent> add(const Event& event) override {
        ++waiting;
        return MemoryStore::append(event);
    }
    Result<void> flush() override {
        if (fails) {
            kept.resize(kept.size() - waiting);
            return Error{"disk full"};
        }
        transactions += waiting > 0 ? 1 : 0;
        waiting = 0;
        return {};
    }
    std::size_t waiting = 0;
    int transactions = 0;
    bool fails = false;
};

TEST_F(EngineTest, AStepIsStoredBeforeTheAnswerToAWorkerThatWritesCheckpoints) {
    for (const bool checkpoints : {false, true}) {
        WaitingStore lazy;
        Played play(study, lazy, 1);
        play.ready(0, checkpoints ? std::vector<std::string>{"checkpoint"} : std::vector<std::string>{});
        const AttemptId id = play.asked(0);
        ASSERT_EQ(lazy.waiting, 0u);
        play.report(0, id, 1, 0.5);
        EXPECT_EQ(lazy.waiting, checkpoints ? 0u : 1u);
    }
}

TEST_F(EngineTest, AStepIsStoredBeforeTheAnswerToAScriptWhoseClientWritesCheckpoints) {
    // Its worker is the adapter, which does not know the script when it says hello.
    for (const bool checkpoints : {false, true}) {
        WaitingStore lazy;
        Played play(study, lazy, 1);
        play.ready(0, {"once"});
        const AttemptId id = play.asked(0);
        play.say(0, from_worker::Started{id, 0});
        play.say(0, from_worker::Started{id, 0, "", checkpoints});
        play.report(0, id, 1, 0.5);
        EXPECT_EQ(lazy.waiting, checkpoints ? 0u : 1u);
    }
}

TEST_F(EngineTest, AFolderForCheckpointsIsMadeForAWorkerWithThatCapability) {
    for (const bool checkpoints : {false, true}) {
        MemoryStore fresh;
        Played play(study, fresh, 1);
        play.ready(0, checkpoints ? std::vector<std::string>{"checkpoint"} : std::vector<std::string>{});
        EXPECT_EQ(play.asked(0).trial, 1);
        EXPECT_EQ(play.folders_made.size(), checkpoints ? 1u : 0u);
    }
}

TEST_F(EngineTest, WorkersGetNoAnswersOfARoundThatCannotBeStored) {
    WaitingStore failing;
    Played play(study, failing, 1);
    play.ready(0);
    const AttemptId id = play.asked(0);
    play.report(0, id, 1, 0.5);
    failing.fails = true;
    play.engine->on(0, execution::Received{from_worker::Reported{id, {.step = 2, .metrics = {{"loss", 0.4}}}}});
    EXPECT_EQ(play.trial(1).state, TrialState::complete);
    EXPECT_FALSE(play.executor.take<to_worker::Decision>(0)) << "answered before the round was stored";
    play.engine->end_round();
    EXPECT_FALSE(play.executor.take<to_worker::Decision>(0));
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_TRUE(play.executor.terminated.contains(0));
    EXPECT_EQ(play.stored_record().trial(1).state, TrialState::running);
}

TEST_F(EngineTest, TheEventsOfARoundAreOneTransaction) {
    WaitingStore counting;
    Played play(study, counting, 2);
    play.ready(0);
    play.ready(1);
    const AttemptId first = play.asked(0), second = play.asked(1);
    counting.transactions = 0;
    for (const auto& [worker, id] : {std::pair{0, first}, {1, second}})
        for (const std::int64_t step : {1, 2})
            play.engine->on(worker,
                            execution::Received{from_worker::Reported{id, {.step = step, .metrics = {{"loss", 0.4}}}}});
    for (const auto& [worker, id] : {std::pair{0, first}, {1, second}})
        play.engine->on(worker, execution::Received{from_worker::Finished{id, Outcome::complete, {}, {}, {}}});
    EXPECT_EQ(counting.transactions, 0);
    play.engine->end_round();
    EXPECT_EQ(counting.transactions, 1);
    EXPECT_EQ(play.record().trials.size(), 3u);
    EXPECT_EQ(play.trial(3).state, TrialState::running);
}

TEST_F(EngineTest, TheTimeOfASessionIsCountedOnceAfterItsEnd) {
    Played play(study, store, 1);
    const double before = play.engine->seconds();
    play.clock.advance(Seconds(5));
    EXPECT_DOUBLE_EQ(play.engine->seconds(), before + 5);
    play.end_session(5);
    EXPECT_DOUBLE_EQ(play.engine->seconds(), before + 5);
}

TEST_F(BegunTrial, ATrialIsCompleteInTheLedgerBeforeItsLastDecisionIsSent) {
    play.report(0, id, 1, 0.5);
    play.report(0, id, 2, 0.4);
    EXPECT_EQ(play.trial(1).state, TrialState::complete);
    play.exit(0, SIGKILL);  // the worker's end has no effect on the trial now
    EXPECT_EQ(play.trial(1).state, TrialState::complete);
    EXPECT_EQ(play.trial(1).attempt, 1);
}

TEST_F(EngineTest, OnlyTheObjectiveAndTheLossHaveToBeFinite) {
    study.objective.metric = "score";
    Played play(study, store, 1);
    play.ready(0);
    const AttemptId id = play.asked(0);
    const auto say = [&](std::int64_t step, Metrics metrics) {
        play.say(0, from_worker::Reported{id, {.step = step, .metrics = std::move(metrics)}});
        return play.executor.take<to_worker::Decision>(0)->action;
    };
    EXPECT_EQ(say(1, {{"score", 0.5}, {"best", HUGE_VAL}, {"eta", NAN}}), to_worker::Action::go_on);
    EXPECT_EQ(play.trial(1).state, TrialState::running);
    EXPECT_TRUE(std::isnan(play.trial(1).curve.back().metrics.at("eta"))) << "shown as it is";
    EXPECT_EQ(say(2, {{"score", 0.5}, {"loss", NAN}}), to_worker::Action::stop);
    EXPECT_EQ(play.trial(1).state, TrialState::diverged);
    EXPECT_EQ(play.trial(1).reason, "loss is nan at step 2");
}

TEST_F(EngineTest, AWarningOfAScriptsLinesIsToldOnceAStudyWhateverNumbersItQuotes) {
    std::get<ScriptWorker>(study.worker).metrics.emplace();
    Played play(study, store, 2);
    for (const int worker : {0, 1}) play.ready(worker);
    const AttemptId ids[] = {play.asked(0), play.asked(1)};
    const auto say = [&](int worker, std::int64_t step, const std::string& warning) {
        play.say(worker,
                 from_worker::Reported{ids[worker], {.step = step, .metrics = {{"loss", 0.5}}, .warning = warning}});
    };
    say(0, 1, "several models: 'loss 0.5'");
    say(1, 1, "several models: 'loss 0.25e-3'");
    EXPECT_EQ(play.warnings, "several models: 'loss 0.5'\n");
    say(1, 2, "several models: 'eloss 0.5'");  // the letter of exponents is no number
    EXPECT_THAT(play.warnings, ::testing::EndsWith("'eloss 0.5'\n"));
    say(0, 2, "another kind");
    EXPECT_THAT(play.warnings, ::testing::EndsWith("another kind\n"));
}

TEST_F(EngineTest, ATrialThatOmitsAMetricOfAnObjectiveOrAConstraintFailsAtItsFirstSuchStepAndSaysWhich) {
    study.objective = {
        "score", Direction::maximize, Objective::At::best, {{"latency", Direction::minimize}}, {{"size", {}, 9.0}}};
    Played play(study, store, 1);
    play.ready(0);
    const AttemptId id = play.asked(0);
    const auto say = [&](std::int64_t step, Metrics metrics) {
        play.say(0, from_worker::Reported{id, {.step = step, .metrics = std::move(metrics)}});
        return play.executor.take<to_worker::Decision>(0)->action;
    };
    EXPECT_EQ(say(1, {{"score", 0.5}, {"latency", 2}, {"size", 99}}), to_worker::Action::go_on);
    EXPECT_EQ(say(2, {{"score", 0.9}, {"latency", 2}}), to_worker::Action::stop);
    EXPECT_EQ(play.trial(1).state, TrialState::failed);
    EXPECT_THAT(play.trial(1).reason, Mentions("step 2", "score", "size"));
}

TEST_F(EngineTest, WhereTheLastStepCountsItAloneNeedsTheMetricsOfAllObjectives) {
    study.objective = {"score", Direction::maximize, Objective::At::last, {{"latency", Direction::minimize}}};
    study.budget.epochs = 2;
    Played play(study, store, 1);
    play.ready(0);
    const auto say = [&](AttemptId id, std::int64_t step, Metrics metrics) {
        play.say(0, from_worker::Reported{id, {.step = step, .metrics = std::move(metrics)}});
        (void)play.executor.take<to_worker::Decision>(0);
    };
    const AttemptId first = play.asked(0);
    say(first, 1, {{"score", 0.5}});
    say(first, 2, {{"score", 0.5}, {"latency", 1}});
    EXPECT_EQ(play.trial(1).state, TrialState::complete);
    play.say(0, from_worker::Finished{first, Outcome::complete});
    const AttemptId second = play.asked(0);
    say(second, 1, {{"score", 0.5}});
    say(second, 2, {{"score", 0.5}});
    EXPECT_EQ(play.trial(2).state, TrialState::failed);
    EXPECT_THAT(play.trial(2).reason, HasSubstr("latency"));
}

TEST_F(EngineTest, ARemarkOnACompleteTrialIsItsReasonAndTheStudysEndSaysHowManyThereAre) {
    {
        Played play(study, store, 1);
        play.ready(0);
        for (std::int64_t trial = 1; trial <= 3; ++trial) {
            const AttemptId id = play.asked(0);
            play.report(0, id, 1, 0.5);
            play.report(0, id, 2, 0.4);
            play.finish(0, id, Outcome::complete, trial == 3 ? "" : "it had more to report");
        }
        EXPECT_EQ(play.trial(2).state, TrialState::complete);
        EXPECT_EQ(play.trial(2).reason, "it had more to report");
        EXPECT_EQ(play.trial(3).reason, "");
        EXPECT_THAT(play.notices, Mentions("2 complete"));
        EXPECT_EQ(play.ended, (std::vector<std::int64_t>{1, 2, 3}));
    }
    Played again(study, store, 1);
    EXPECT_EQ(again.trial(2).reason, "it had more to report");
    EXPECT_EQ(again.trial(2).value, 0.4);
}

/// A session that was killed when it had stored the first trial's step, but not what followed.
TrialRecord after_a_kill_behind_the_step(Study study, double loss) {
    MemoryStore store;
    {
        Played play(study, store, 1);
        play.ready(0);
        const AttemptId id = play.asked(0);
        play.report(0, id, 1, 0.1);
        play.report(0, id, 2, loss);
    }
    const auto is_step = [](const StoredEvent& stored) {
        return std::holds_alternative<event::Reported>(stored.event);
    };
    while (!is_step(store.kept.back())) store.kept.pop_back();
    Played play(study, store, 1);
    EXPECT_TRUE(!is_final(play.trial(1).state) || play.ended == std::vector<std::int64_t>{1});
    return play.trial(1);
}

TEST_F(EngineTest, ADivergedTrialIsNotCompleteAndTheBestAfterAKillBetweenReportAndEnd) {
    const TrialRecord trial = after_a_kill_behind_the_step(small_study(), NAN);
    EXPECT_EQ(trial.state, TrialState::diverged);
    EXPECT_EQ(trial.reason, "loss is nan at step 2");
    EXPECT_EQ(after_a_kill_behind_the_step(small_study(), 0.05).state, TrialState::complete);
}

TEST_F(EngineTest, WhatARuleSaidBeforeAKillStandsAfterwards) {
    study.budget.epochs = 9;
    study.stopping = {{"plateau", {{"patience", std::int64_t{1}}, {"grace", std::int64_t{1}}}}};
    const TrialRecord stopped = after_a_kill_behind_the_step(study, 0.2);
    EXPECT_EQ(stopped.state, TrialState::stopped);
    EXPECT_EQ(stopped.rule, "plateau");
    EXPECT_EQ(after_a_kill_behind_the_step(study, 0.05).state, TrialState::queued);
    study.stopping = {{"asha", {{"grace", std::int64_t{2}}, {"factor", std::int64_t{3}}}}};
    const TrialRecord paused = after_a_kill_behind_the_step(study, 0.2);
    EXPECT_EQ(paused.state, TrialState::paused);
    EXPECT_EQ(paused.attempt, 1) << "the step is not trained again to be paused";
}

TEST_F(EngineTest, AWorkerThatDiesIsRetriedTwiceAndThenTheTrialFailsWithTheSignalAndTheLastOutput) {
    Played play(study, store, 1);
    for (std::int64_t attempt = 1; attempt <= 3; ++attempt) {
        play.ready(0);
        const AttemptId id = play.asked(0);
        EXPECT_EQ(id, (AttemptId{1, attempt}));
        play.exit(0, SIGSEGV);
    }
    EXPECT_EQ(play.trial(1).state, TrialState::failed);
    EXPECT_THAT(play.trial(1).reason, HasSubstr("SIGSEGV"));
    EXPECT_THAT(play.trial(1).reason, HasSubstr("words"));
    play.ready(0);
    EXPECT_EQ(play.asked(0).trial, 2);
}

TEST_F(ReadyWorker, WordsOfAnOlderAttemptAreNotUsed) {
    play.asked(0);
    play.exit(0, SIGKILL);
    play.ready(0);
    const AttemptId id = play.asked(0);
    ASSERT_EQ(id, (AttemptId{1, 2}));
    play.say(0, from_worker::Reported{{1, 1}, {.step = 2, .metrics = {{"loss", 0.0}}}});
    play.finish(0, {1, 1});
    EXPECT_EQ(play.trial(1).steps(), 0);
    EXPECT_EQ(play.trial(1).state, TrialState::running);
}

TEST_F(EngineTest, StepsThatRepeatGoBackOrExceedTheBudgetAreNeverStored) {
    study.budget.epochs = 5;
    Played play(study, store, 1);
    play.ready(0);
    const AttemptId id = play.asked(0);
    for (const std::int64_t step : {2, 2, 1, 0, -1, 6}) play.report(0, id, step, 0.1 * static_cast<double>(step));
    EXPECT_EQ(play.trial(1).curve.size(), 1u);
    EXPECT_EQ(play.trial(1).state, TrialState::running);
    EXPECT_THAT(play.notices, Mentions("step 2", "again"));
}

TEST_F(EngineTest, AWorkerThatCountsStepsFromZeroIsToldSo) {
    Played play(study, store, 1);
    play.ready(0);
    play.report(0, play.asked(0), 0, 0.5);
    EXPECT_EQ(play.trial(1).curve.size(), 0u);
    EXPECT_THAT(play.notices, Mentions("step 0:", "from 1"));
}

TEST_F(BegunTrial, ANonFiniteLossEndsTheTrialAsDivergedWithTheStep) {
    EXPECT_EQ(play.report(0, id, 1, std::numeric_limits<double>::quiet_NaN()), to_worker::Action::stop);
    EXPECT_EQ(play.trial(1).state, TrialState::diverged);
    EXPECT_EQ(play.trial(1).reason, "loss is nan at step 1");
    EXPECT_EQ(play.trial(1).value, std::nullopt);
}

TEST_F(EngineTest, ASilentWorkerIsEndedAfterTheProgressTimeoutAndTheTrialSaysSo) {
    study.resources.retries = 0;
    study.resources.progress_timeout = 60;
    Played play(study, store, 1);
    play.ready(0);
    const AttemptId id = play.asked(0);
    const auto wait = [&](int seconds) {
        for (int i = 0; i < seconds; ++i) play.tick();
    };
    wait(59);
    EXPECT_TRUE(play.executor.terminated.empty());
    play.say(0, from_worker::Alive{id, "training"});
    wait(59);
    EXPECT_TRUE(play.executor.terminated.empty()) << "an alive worker is not silent";
    wait(2);
    EXPECT_TRUE(play.executor.terminated.contains(0));
    play.exit(0, SIGTERM);
    EXPECT_EQ(play.trial(1).state, TrialState::failed);
    EXPECT_THAT(play.trial(1).reason, Mentions("silent", "60 s"));
}

TEST_F(BegunTrial, AWorkerThatGoesOnAfterItsTrialEndedIsEndedAndTheTrialStaysWhatItWas) {
    ASSERT_TRUE(play.stop_trial(1));
    for (int i = 0; i < 62; ++i) {
        play.say(0, from_worker::Alive{id, "training"});
        play.tick();
    }
    EXPECT_TRUE(play.executor.terminated.contains(0));
    play.exit(0, SIGTERM);
    EXPECT_EQ(play.trial(1).state, TrialState::stopped);
    EXPECT_EQ(play.trial(1).failures, 0);
}

TEST_F(EngineTest, AWorkerThatNeverSaysHelloIsAFailedLaunchAndThreeOfThemEndTheStudy) {
    study.resources.progress_timeout = 2;
    Played play(study, store, 1);
    for (int launch = 0; launch < 3; ++launch) {
        EXPECT_FALSE(play.engine->done());
        for (int i = 0; i < 4; ++i) play.tick();
        play.exit(0, SIGTERM);
    }
    EXPECT_TRUE(play.engine->done());
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_THAT(play.engine->end_reason(), Mentions("silent", "2 s"));
    EXPECT_THAT(play.engine->end_reason(), HasSubstr("hello"));
}

TEST_F(BegunTrial, AFloodOfReportsThatAreNotUsedIsToldInNumbers) {
    for (int i = 0; i < 10'000; ++i) play.report(0, id, 1, 0.5);
    play.report(0, id, 2, 0.4);
    play.finish(0, id);
    EXPECT_LT(play.notices.size(), 1000u);
    EXPECT_THAT(play.notices, Mentions("9999"));
    EXPECT_EQ(play.trial(1).state, TrialState::complete);
}

TEST_F(EngineTest, TrialsThatCannotFitEndTheStudyInsteadOfFailingOneByOne) {
    study.budget.trials = 100;
    Played play(study, store, 1);
    play.ready(0, {"plan"});
    for (std::int64_t extra = 1; extra <= 3; ++extra) {
        const auto plan = play.executor.take<to_worker::Plan>(0);
        ASSERT_TRUE(plan);
        play.say(0, from_worker::PlanAnswer{.id = plan->id, .footprint = {0, (std::int64_t{8} << 30) + extra, 1}});
    }
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_EQ(play.record().trials.size(), 3u);
}

TEST_F(BegunTrial, ALongSleepOfTheMachineDoesNotEndEveryTrial) {
    play.tick();
    play.tick(Seconds(8 * 3600));
    EXPECT_TRUE(play.executor.terminated.empty());
    EXPECT_EQ(play.report(0, id, 1, 0.5), to_worker::Action::go_on);
}

TEST_F(EngineTest, AnInterruptQueuesWhatRunsAndTheNextSessionGoesOnWithoutRepeatingWhatIsFinished) {
    {
        Played play(study, store, 2);
        play.ready(0);
        play.ready(1);
        const AttemptId first = play.asked(0);
        const AttemptId second = play.asked(1);
        play.complete(0, first);
        play.report(1, second, 1, 0.7);
        play.engine->interrupt("interrupted"), play.engine->end_round();
        EXPECT_EQ(play.trial(2).state, TrialState::queued);
        play.say(1, from_worker::Reported{second, {.step = 2, .metrics = {{"loss", 0.6}}}});  // was under way
        EXPECT_THAT(play.notices, Not(HasSubstr("used")));
        play.exit(0, 0);
        play.exit(1, SIGTERM);
        EXPECT_TRUE(play.engine->done());
        EXPECT_EQ(play.trial(2).failures, 0);
    }
    Played again(study, store, 2);
    EXPECT_EQ(again.trial(1).state, TrialState::complete);
    again.ready(0);
    again.ready(1);
    const auto run = again.executor.take<to_worker::Run>(0);
    ASSERT_TRUE(run);
    const AttemptId other = again.asked(1);
    EXPECT_EQ(std::max(run->id.attempt, other.attempt), 2);
    EXPECT_EQ(std::min(run->id.trial, other.trial), 2);
    EXPECT_EQ(std::max(run->id.trial, other.trial), 3);
}

TEST_F(EngineTest, AKilledSessionResumesFromItsEventsAlone) {
    {
        Played play(study, store, 1);
        play.ready(0);
        const AttemptId id = play.asked(0);
        play.report(0, id, 1, 0.5);
    }  // the session does not end properly
    Played again(study, store, 1);
    again.ready(0);
    const auto run = again.executor.take<to_worker::Run>(0);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->id, (AttemptId{1, 2}));
    EXPECT_TRUE(run->resume);
    again.complete(0, run->id);
    EXPECT_EQ(again.trial(1).steps(), 2);
    EXPECT_EQ(again.trial(1).trained, 3);  // the first step was trained twice
    EXPECT_EQ(again.trial(1).state, TrialState::complete);
}

TEST_F(EngineTest, AStoredLastStepWithoutItsEndIsCompletedByTheNextSession) {
    {
        Played play(study, store, 1);
        play.ready(0);
        const AttemptId id = play.asked(0);
        play.report(0, id, 1, 0.5);
        play.report(0, id, 2, 0.4);
    }
    ASSERT_TRUE(std::holds_alternative<event::Finished>(store.kept.back().event));
    store.kept.pop_back();  // killed between the last step and the end
    Played again(study, store, 1);
    EXPECT_EQ(again.trial(1).state, TrialState::complete);
}

TEST_F(EngineTest, TheSameEventsGiveTheSameProposalsAfterAResume) {
    MemoryStore whole, broken;
    const auto play_all = [](Played& play) {
        for (WorkerIndex index = 0; !play.engine->done();) {
            if (!play.executor.launched.empty()) {
                play.executor.launched.clear();
                play.ready(index);
            }
            const AttemptId id = play.asked(index);
            if (id.trial == 0)
                play.exit(index, 0);
            else
                play.complete(index, id);
        }
    };
    Played uninterrupted(study, whole, 1);
    play_all(uninterrupted);
    {
        Played first(study, broken, 1);
        first.ready(0);
        first.complete(0, first.asked(0));
    }
    Played second(study, broken, 1);
    play_all(second);
    ASSERT_EQ(second.record().trials.size(), uninterrupted.record().trials.size());
    for (std::size_t i = 0; i < second.record().trials.size(); ++i)
        EXPECT_EQ(second.record().trials[i].params, uninterrupted.record().trials[i].params);
}

TEST_F(EngineTest, ThreeFailedLaunchesInARowEndTheStudyAndFailNoTrial) {
    Played play(study, store, 1);
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(play.engine->done());
        play.on(0, execution::LaunchFailed{ENOENT, "cannot start played: No such file or directory"});
    }
    EXPECT_TRUE(play.engine->done());
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_THAT(play.engine->end_reason(), HasSubstr("No such file or directory"));
    for (const TrialRecord& trial : play.record().trials) EXPECT_FALSE(is_final(trial.state));
}

/// Fails every launch with `failure` until the clock has reached `seconds`, and returns the number of launches.
int launches_within(Played& play, double seconds, const execution::Event& failure) {
    int launches = 0;
    for (; play.clock.now().count() < seconds && !play.engine->done(); play.tick())
        while (!play.executor.launched.empty()) {
            const WorkerIndex index = play.executor.launched.front();
            play.executor.launched.pop_front();
            ++launches;
            play.on(index, failure);
        }
    return launches;
}

TEST_F(EngineTest, AfterAShortageOfProcessesWithGrowingPausesTheStudyGoesOn) {
    Played play(study, store, 8);
    const execution::LaunchFailed failed{EAGAIN, "cannot start played: Resource temporarily unavailable"};
    const int launches = launches_within(play, 60, failed);
    EXPECT_FALSE(play.engine->done()) << play.engine->end_reason();
    EXPECT_GE(launches, 5);
    EXPECT_LE(launches, 12) << "eight places do not try in turns";
    EXPECT_THAT(play.notices, HasSubstr("Resource temporarily unavailable"));
    EXPECT_EQ(play.notices.find("Resource"), play.notices.rfind("Resource")) << "told once\n" << play.notices;
    while (play.executor.launched.empty()) play.tick();
    play.ready(play.executor.launched.front());
    EXPECT_NE(play.asked(play.executor.launched.front()).trial, 0);
    play.tick();
    EXPECT_GT(play.executor.launched.size(), 1U) << "it is over";
}

TEST_F(EngineTest, AWorkerThatDiedOfAShortageIsNotAFailedLaunch) {
    Played play(study, store, 3);
    launches_within(play, 10, execution::Exited{1, 0, false, "RuntimeError: can't start new thread", 0});
    EXPECT_FALSE(play.engine->done()) << play.engine->end_reason();
}

TEST_F(EngineTest, AShortageThatDoesNotPassEndsTheStudyAndFailsNoTrial) {
    Played play(study, store, 2);
    launches_within(play, 3600, execution::LaunchFailed{EMFILE, "cannot start played: Too many open files"});
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_THAT(play.engine->end_reason(), Mentions("10m"));
    EXPECT_THAT(play.engine->end_reason(), HasSubstr("Too many open files"));
    for (const TrialRecord& trial : play.record().trials) EXPECT_FALSE(is_final(trial.state));
}

TEST_F(EngineTest, ACauseThatFailsEveryTrialEndsTheStudyBeforeItsBudgetIsUsed) {
    study.budget.trials = 200;
    Played play(study, store, 1);
    play.ready(0);
    for (int i = 0; i < 3; ++i) play.finish(0, play.asked(0), Outcome::failed, "no data");
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_EQ(play.record().trials.size(), 3u);
    EXPECT_THAT(play.engine->end_reason(), HasSubstr("no data"));
}

TEST_F(BegunTrial, AFullDiskEndsTheSessionAndLeavesItsTrialIncomplete) {
    play.report(0, id, 1, 0.5);
    store.fail_from = static_cast<std::int64_t>(store.kept.size()) +
                      2;  // there is space for the last report, but not for the trial's end
    play.say(0, from_worker::Reported{id, {.step = 2, .metrics = {{"loss", 0.4}}}});
    EXPECT_FALSE(play.executor.take<to_worker::Decision>(0)) << "acknowledged, but not stored";
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_THAT(play.engine->end_reason(), HasSubstr("disk full"));
    EXPECT_FALSE(is_final(play.trial(1).state));
    play.exit(0, 0);
    EXPECT_TRUE(play.engine->done());
}

TEST_F(EngineTest, TheTimeBudgetCountsAllSessionsAndLeavesTheRestQueued) {
    study.budget.seconds = 100;
    Played play(study, store, 1);
    play.ready(0);
    play.asked(0);
    play.tick(Seconds(99));
    EXPECT_EQ(play.engine->end(), Engine::End::none);
    play.tick(Seconds(2));
    EXPECT_EQ(play.engine->end(), Engine::End::out_of_time);
    EXPECT_EQ(play.trial(1).state, TrialState::queued);
}

TEST_F(BegunTrial, AUsersStopEndsARunningTrialInTheLedgerAtOnce) {
    play.report(0, id, 1, 0.5);
    ASSERT_TRUE(play.stop_trial(1));
    EXPECT_EQ(play.trial(1).state, TrialState::stopped);
    EXPECT_EQ(play.trial(1).rule, "user");
    EXPECT_TRUE(play.executor.take<to_worker::Stop>(0));
    play.finish(0, id, Outcome::stopped);
    EXPECT_EQ(play.asked(0).trial, 2);
    EXPECT_FALSE(play.stop_trial(1));
    EXPECT_FALSE(play.stop_trial(99));
}

TEST_F(EngineTest, ATrialThatIsStoppedBeforeItRunsIsReportedAsEndedOnce) {
    Played play(study, store, 1);
    ASSERT_TRUE(play.stop_trial(1));  // its worker is starting
    play.ready(0);
    EXPECT_EQ(play.ended, (std::vector<std::int64_t>{1}));
    EXPECT_EQ(play.asked(0).trial, 2);
    MemoryStore other;
    Played planned(small_study(), other, 1);
    planned.ready(0, {"plan"});
    const auto plan = planned.executor.take<to_worker::Plan>(0);
    ASSERT_TRUE(plan);
    ASSERT_TRUE(planned.stop_trial(plan->id));
    planned.say(0, from_worker::PlanAnswer{.id = plan->id, .footprint = {0, 1 << 20, 1}});
    EXPECT_EQ(planned.ended, (std::vector<std::int64_t>{plan->id}));
    EXPECT_EQ(planned.executor.take<to_worker::Plan>(0)->id, plan->id + 1);
}

TEST_F(EngineTest, AskingForThePlanComesBeforeTheRunAndATrialThatCannotFitFailsWithTheNumbers) {
    Played play(study, store, 1);
    play.ready(0, {"plan"});
    auto plan = play.executor.take<to_worker::Plan>(0);
    ASSERT_TRUE(plan);
    play.say(0, from_worker::PlanAnswer{.id = plan->id, .footprint = {0, std::int64_t{8} << 30, 1}});
    EXPECT_EQ(play.trial(1).state, TrialState::failed);
    EXPECT_THAT(play.trial(1).reason, HasSubstr("8"));
    plan = play.executor.take<to_worker::Plan>(0);
    ASSERT_TRUE(plan);
    play.say(0, from_worker::PlanAnswer{.id = plan->id, .footprint = {0, 1 << 20, 1}});
    EXPECT_EQ(play.asked(0).trial, 2);
}

TEST_F(EngineTest, APausedTrialWaitsAndIsPromotedWithItsCheckpoint) {
    study.budget.trials = 4;
    study.budget.epochs = 4;
    study.stopping = {{"asha", {{"grace", std::int64_t{1}}, {"factor", std::int64_t{2}}}}};
    Played play(study, store, 1);
    play.ready(0);
    std::map<std::int64_t, std::int64_t> attempts;
    int steps = 0;
    for (AttemptId id = play.asked(0); id.trial != 0; id = play.asked(0)) {
        attempts[id.trial] = id.attempt;
        for (std::int64_t step = play.trial(id.trial).steps() + 1;; ++step, ++steps) {
            const auto action = play.report(0, id, step, static_cast<double>(id.trial));
            if (action == to_worker::Action::pause)
                play.finish(0, id, Outcome::paused);
            else if (action == to_worker::Action::stop)
                play.finish(0, id, Outcome::stopped);
            else if (step == study.budget.epochs)
                play.finish(0, id);
            else
                continue;
            break;
        }
    }
    EXPECT_EQ(play.engine->end(), Engine::End::finished);
    EXPECT_EQ(play.trial(1).state, TrialState::complete) << "the best one is trained to the end";
    EXPECT_EQ(play.trial(4).state, TrialState::stopped);
    EXPECT_THAT(play.trial(4).rule, "asha");
    EXPECT_LT(steps, 16);
    EXPECT_GT(attempts[1], 1);
    for (const TrialRecord& trial : play.record().trials) EXPECT_TRUE(is_final(trial.state)) << trial.number;
    EXPECT_THAT(play.ended, ::testing::UnorderedElementsAre(1, 2, 3, 4)) << "told also of those closed while paused";
}

/// Plays a study of scripts that take `start` seconds before their first step and 0.02 s for each step, and that repeat
/// their steps after a pause. Returns the attempts of each trial.
std::map<std::int64_t, std::int64_t> attempts_of(const Study& study, MemoryStore& store, double start) {
    const bool native = !study.script();
    Played play(study, store, 1);
    std::map<std::int64_t, std::int64_t> attempts;
    for (bool over = false; !over;) {
        play.clock.advance(Seconds(start));
        play.ready(0, native ? std::vector<std::string>{"once", "plan"} : std::vector<std::string>{"once"});
        if (const auto plan = native ? play.executor.take<to_worker::Plan>(0) : std::nullopt)
            play.say(0, from_worker::PlanAnswer{.id = plan->id, .footprint = {0, 1 << 20, 1}});
        const AttemptId id = play.asked(0);
        if (id.trial == 0) break;
        attempts[id.trial] = id.attempt;
        auto action = to_worker::Action::go_on;
        for (std::int64_t step = 1; action == to_worker::Action::go_on && step <= study.budget.epochs; ++step) {
            play.say(0, from_worker::Reported{id,
                                              {.step = step,
                                               .metrics = {{"loss", static_cast<double>(id.trial)}},
                                               .seconds = 0.02 * static_cast<double>(step)}});
            action = play.executor.take<to_worker::Decision>(0)->action;
        }
        play.finish(0, id, action == to_worker::Action::pause ? Outcome::paused : Outcome::complete);
        play.exit(0, 0);
        over = play.engine->done();
    }
    return attempts;
}

TEST_F(EngineTest, ATrialWhoseRestartTakesLongerThanItsRestIsNotPaused) {
    study.budget.trials = 4;
    study.budget.epochs = 8;
    study.stopping = {{"asha", {{"grace", std::int64_t{2}}, {"factor", std::int64_t{2}}}}};
    for (const auto& [trial, attempts] : attempts_of(study, store, 30)) EXPECT_EQ(attempts, 1) << trial;
    std::vector<std::int64_t> spared;
    for (const StoredEvent& stored : store.kept) {
        EXPECT_FALSE(std::holds_alternative<event::Paused>(stored.event));
        if (const auto* one = std::get_if<event::Spared>(&stored.event)) {
            spared.push_back(one->trial);
            EXPECT_EQ(one->rule, "asha");
            EXPECT_THAT(one->reason, AllOf(HasSubstr("restart"), HasSubstr(" 31.")));
        }
    }
    EXPECT_THAT(spared, ::testing::Contains(4));
    Played again(study, store, 1);
    for (const TrialRecord& trial : again.record().trials) {
        EXPECT_EQ(trial.state, TrialState::complete) << trial.number;
        EXPECT_EQ(trial.steps(), 8) << trial.number;
    }
    EXPECT_TRUE(again.trial(4).spared);
}

TEST_F(EngineTest, ATrialOfTheNativeWorkerIsPausedHoweverSlowlyItStarted) {
    study.worker = NativeWorker{};
    study.fixed = {{"model", std::string("mlp")}};
    study.budget.trials = 4;
    study.budget.epochs = 8;
    study.stopping = {{"asha", {{"grace", std::int64_t{2}}, {"factor", std::int64_t{2}}}}};
    (void)attempts_of(study, store, 30);
    EXPECT_TRUE(std::any_of(store.kept.begin(), store.kept.end(), [](const StoredEvent& stored) {
        return std::holds_alternative<event::Paused>(stored.event);
    }));
}

/// Plays a study of four epochs on one worker. Returns the reasons of its promotions.
std::vector<std::string> promotions_of(const Study& study, MemoryStore& store,
                                       const std::function<double(std::int64_t trial, std::int64_t step)>& loss) {
    Played play(study, store, 1);
    play.ready(0);
    for (AttemptId id = play.asked(0); id.trial != 0; id = play.asked(0)) {
        std::int64_t step = play.trial(id.trial).steps();
        auto action = to_worker::Action::go_on;
        while (action == to_worker::Action::go_on && step < study.budget.epochs) {
            ++step;
            action = play.report(0, id, step, loss(id.trial, step));
        }
        play.finish(0, id, action == to_worker::Action::pause ? Outcome::paused : Outcome::complete);
    }
    std::vector<std::string> promotions;
    for (const StoredEvent& stored : store.kept)
        if (const auto* queued = std::get_if<event::Requeued>(&stored.event)) promotions.push_back(queued->reason);
    return promotions;
}

TEST_F(EngineTest, APromotionNamesItsRungAndRule) {
    study.budget.trials = 2;
    study.budget.epochs = 4;
    study.stopping = {{"asha", {{"grace", std::int64_t{1}}, {"factor", std::int64_t{2}}}}};
    const auto loss = [](std::int64_t trial, std::int64_t) { return static_cast<double>(trial); };
    EXPECT_THAT(promotions_of(study, store, loss),
                ::testing::ElementsAre("promoted to rung 2 by asha", "promoted past the last rung by asha"));
}

TEST_F(EngineTest, ATrialThatRepeatsTheBestOneIsPromotedToItsEnd) {
    study.budget.trials = 2;
    study.budget.epochs = 18;
    study.stopping = {{"extrapolation", {{"grace", std::int64_t{4}}}}};  // three values must be equal
    const auto loss = [](std::int64_t, std::int64_t step) { return 1 / static_cast<double>(step); };
    EXPECT_THAT(promotions_of(study, store, loss), ::testing::Contains("promoted to its end by extrapolation"));
}

TEST_F(EngineTest, TellsThePredictedEndsOfRunningTrialsOnceCurvesHaveProvedPredictive) {
    study.budget.trials = 60;
    study.budget.epochs = 9;
    study.stopping = {{"extrapolation", {}}};
    Played play(study, store, 1);
    play.ready(0);
    const auto end_of = [](std::int64_t trial) { return static_cast<double>(trial * 37 % 61) / 61; };
    std::int64_t told = 0;
    for (AttemptId id = play.asked(0); id.trial != 0; id = play.asked(0)) {
        auto action = to_worker::Action::go_on;
        for (std::int64_t step = play.trial(id.trial).steps() + 1; step <= 9 && action == to_worker::Action::go_on;
             ++step) {
            action = play.report(0, id, step, end_of(id.trial) + 1 / static_cast<double>(step) - 1.0 / 9);
            if (action != to_worker::Action::go_on) break;
            const auto ends = play.engine->predicted_ends();
            if (id.trial < 8) {
                EXPECT_TRUE(ends.empty()) << "trial " << id.trial << ": too few curves are known";
            }
            if (id.trial < 40 || ends.empty()) continue;
            ++told;
            EXPECT_NEAR(ends.at(id.trial), end_of(id.trial), 0.05) << "at step " << step;
        }
        play.finish(0, id, action == to_worker::Action::pause ? Outcome::paused : Outcome::complete);
    }
    EXPECT_GT(told, 10);
    EXPECT_TRUE(play.engine->predicted_ends().empty()) << "no trial runs";
}

TEST_F(BegunTrial, AStudyThatFailsLetsItsWorkersGoAndQueuesTheirTrialsAgain) {
    play.report(0, id, 1, 0.5);
    play.engine->fail("the folder is gone"), play.engine->end_round();
    EXPECT_EQ(play.trial(1).state, TrialState::queued);
    EXPECT_TRUE(play.executor.terminated.contains(0));
    play.exit(0, 0);
    EXPECT_TRUE(play.engine->done());
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_EQ(play.engine->end_reason(), "the folder is gone");
}

TEST_F(EngineTest, PausedTrialsThatEndWithTheStudyAreClosedAFewAtATimeSoThatTheLoopIsNeverHeldUp) {
    study.budget.trials = 220;
    study.stopping = {{"asha", {{"grace", std::int64_t{1}}, {"factor", std::int64_t{1000}}}}};
    Played play(study, store, 1);
    play.ready(0);
    std::size_t most = 0;
    for (AttemptId id = play.asked(0); id.trial != 0; id = play.asked(0)) {
        const auto action = play.report(0, id, play.trial(id.trial).steps() + 1, static_cast<double>(id.trial));
        const std::size_t before = store.kept.size();
        play.finish(0, id, action == to_worker::Action::pause ? Outcome::paused : Outcome::complete);
        most = std::max(most, store.kept.size() - before);
    }
    ASSERT_TRUE(play.engine->has_more());
    while (play.engine->has_more()) {
        EXPECT_EQ(play.engine->end(), Engine::End::none);
        const std::size_t before = store.kept.size();
        play.engine->end_round();
        most = std::max(most, store.kept.size() - before);
    }
    EXPECT_LE(most, 55u) << "entries that were stored at once";
    std::size_t stopped = 0;
    for (const TrialRecord& trial : play.record().trials) stopped += trial.state == TrialState::stopped ? 1 : 0;
    EXPECT_EQ(play.ended_with_study, stopped) << "told by themselves, so that they can be told as one";
    for (const StoredEvent& stored : play.events) {
        const auto* end = std::get_if<event::Finished>(&stored.event);
        EXPECT_FALSE(end && end->state == TrialState::stopped);
    }
    EXPECT_EQ(play.engine->end(), Engine::End::finished);
    for (const TrialRecord& trial : play.record().trials) EXPECT_TRUE(is_final(trial.state)) << trial.number;
}

TEST_F(EngineTest, AWorkerThatTrainsOnceGetsOneTrialMayTakeItsTimeToExitAndAnotherOneIsStarted) {
    Played play(study, store, 1);
    for (std::int64_t trial = 1; trial <= 3; ++trial) {
        play.ready(0, {"once"});
        const AttemptId id = play.asked(0);
        EXPECT_EQ(id, (AttemptId{trial, 1}));
        play.complete(0, id);
        for (int second = 0; second < 90; ++second) play.tick();
        EXPECT_EQ(play.asked(0).trial, 0) << "it is on its way out";
        EXPECT_FALSE(play.executor.terminated.contains(0));
        EXPECT_EQ(play.executor.launched.size(), static_cast<std::size_t>(trial));
        play.exit(0, 0, trial == 2 ? 1 : 0);
    }
    EXPECT_EQ(play.engine->end(), Engine::End::finished);
    for (const TrialRecord& trial : play.record().trials) EXPECT_EQ(trial.state, TrialState::complete);
}

TEST_F(EngineTest, AWorkerThatTrainedOnceAndDoesNotExitIsEndedAfterTheProgressTimeout) {
    study.resources.progress_timeout = 30;
    Played play(study, store, 1);
    play.ready(0, {"once"});
    play.complete(0, play.asked(0));
    for (int second = 0; second < 30; ++second) play.tick();
    EXPECT_FALSE(play.executor.terminated.contains(0));
    play.tick();
    EXPECT_TRUE(play.executor.terminated.contains(0));
}

TEST_F(EngineTest, AWorkerThatTrainsOnceEndsItsTrialByExiting) {
    study.resources.retries = 0;
    Played play(study, store, 1);
    play.ready(0, {"once"});
    play.report(0, play.asked(0), 1, 0.5);
    play.exit(0, 0);
    EXPECT_EQ(play.trial(1).state, TrialState::complete);

    play.ready(0, {"once"});
    play.report(0, play.asked(0), 1, 0.5);
    play.exit(0, 0, 3);
    EXPECT_EQ(play.trial(2).state, TrialState::failed) << "not with another status";

    play.ready(0, {"once"});
    play.asked(0);
    play.exit(0, 0);
    EXPECT_EQ(play.trial(3).state, TrialState::failed) << "not without a report";
}

TEST_F(ReadyWorker, NotesOfWorkersAreToldOnceEach) {
    Played two(study, store, 2);
    for (const WorkerIndex index : {0, 1})
        two.on(index,
               execution::Ready{{.pid = 100 + index, .notes = {"cuBLAS of /a", "worker " + std::to_string(index)}}});
    EXPECT_EQ(two.notices.find("cuBLAS of /a"), two.notices.rfind("cuBLAS of /a")) << two.notices;
    EXPECT_THAT(two.notices, AllOf(HasSubstr("cuBLAS of /a"), HasSubstr("worker 0"), HasSubstr("worker 1")));
}

}  // namespace
}  // namespace hpo
