// Failures that are charged to a trial, final metrics of scripts, and failures that end a study.
#include <csignal>

#include "tests/unit/engine/played.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using hpo::testing::BegunTrial;
using hpo::testing::GiB;
using hpo::testing::MemoryStore;
using hpo::testing::MiB;
using hpo::testing::OneStore;
using hpo::testing::Played;
using hpo::testing::ReadyWorker;
using hpo::testing::small_study;
using ::testing::HasSubstr;
using ::testing::Not;

class Failures : public hpo::testing::OneStore {};

Study study_of(std::int64_t trials, std::int64_t epochs) {
    Study study = small_study();
    study.budget.trials = trials;
    study.budget.epochs = epochs;
    return study;
}

/// Returns the end of a worker as an executor reports it if the agent is gone.
execution::Exited lost_with_host() {
    execution::Exited exited;
    exited.signal = SIGKILL;
    exited.cause = "its host, a, was lost: its agent died of signal 9";
    exited.host_lost = true;
    return exited;
}

TEST_F(Failures, ATrialIsNotChargedWithTheLossOfItsHost) {
    Played play(study_of(1, 9), store, 1);
    for (std::int64_t attempt = 1; attempt <= 5; ++attempt) {
        play.ready(0, {"checkpoint"});
        const AttemptId id = play.asked(0);
        ASSERT_EQ(id, (AttemptId{1, attempt}));
        play.report(0, id, attempt, 0.5);
        play.on(0, lost_with_host());
    }
    EXPECT_EQ(play.trial(1).state, TrialState::queued);
    EXPECT_EQ(play.trial(1).failures, 0);
    EXPECT_THAT(play.trial(1).reason, HasSubstr("its host, a, was lost"));
}

TEST_F(Failures, ASignalThatEndedTheCommandOfAnAdapterIsSaidOfTheCommand) {
    Study study = study_of(1, 2);
    for (const bool adapted : {false, true}) {
        if (adapted) std::get<ScriptWorker>(study.worker).metrics.emplace();
        MemoryStore own;
        Played play(study, own, 1);
        play.ready(0);
        play.asked(0);
        execution::Exited exited;
        exited.signal = SIGSEGV;
        play.on(0, exited);
        EXPECT_THAT(play.trial(1).reason, Mentions(adapted ? "command" : "worker", "SIGSEGV"));
    }
}

TEST_F(Failures, AHostThatIsLostBeforeHelloIsNoFailedLaunch) {
    Played play(study_of(1, 2), store, 1);
    for (int i = 0; i < 5; ++i) play.on(0, lost_with_host());
    EXPECT_FALSE(play.engine->done());
    play.ready(0);
    EXPECT_EQ(play.asked(0), (AttemptId{1, 1}));
}

TEST_F(Failures, WhatKeepsAnAttemptFromItsStartIsAWarningAndALaterLineIsNone) {
    Played play(study_of(1, 5), store, 1);
    play.ready(0);
    const AttemptId id = play.asked(0);
    play.say(0, from_worker::Log{id, "cannot start train: it is tried again"});
    play.say(0, from_worker::Started{id, 0});
    play.say(0, from_worker::Log{id, "a line of the script"});
    EXPECT_THAT(play.notices, HasSubstr("a line of the script"));
    EXPECT_THAT(play.warnings, HasSubstr("cannot start train: it is tried again"));
    EXPECT_THAT(play.warnings, Not(HasSubstr("a line of the script")));
}

TEST_F(Failures, AnAttemptWithoutUseOfItsCheckpointIsTriedAgainWithoutBlameOnceAndThenAsOftenAsADeadOne) {
    Study study = study_of(1, 5);
    study.resources.retries = 1;
    Played play(study, store, 1);
    const std::string why = "its checkpoint is of step 5, but the last stored step is 2";
    play.ready(0, {"checkpoint", "once"});
    const AttemptId first = play.asked(0);
    play.report(0, first, 1, 0.5);
    play.report(0, first, 2, 0.4);
    for (std::int64_t attempt = 1; attempt <= 3; ++attempt) {
        ASSERT_EQ(play.trial(1).state, TrialState::running);
        play.say(0, from_worker::Finished{{1, attempt}, Outcome::lost, why, {}, {}, true});
        EXPECT_EQ(play.trial(1).failures, attempt == 1 ? 0 : 1);
        play.exit(0, 0, 1);
        play.ready(0, {"checkpoint", "once"});
        play.asked(0);
    }
    EXPECT_THAT(play.notices, ::testing::AllOf(HasSubstr(why + "\n  "), HasSubstr("(1 of 1)")));
    EXPECT_EQ(play.trial(1).state, TrialState::failed);
    EXPECT_EQ(play.trial(1).reason, "2 attempts ended: " + why);
}

TEST_F(Failures, AnAttemptThatEndsAtAStepThatIsNotStoredIsNotComplete) {
    // As after a loss of power, by a client that does not compare its checkpoint with `done`.
    for (const auto& [from, says] :
         std::vector<std::pair<std::int64_t, bool>>{{2, true}, {2, false}, {5, true}, {5, false}}) {
        MemoryStore own;
        Played play(study_of(1, 5), own, 1);
        play.ready(0, {"checkpoint", "once"});
        const AttemptId first = play.asked(0);
        play.report(0, first, 1, 0.5);
        play.report(0, first, 2, 0.4);
        play.on(0, lost_with_host());
        play.ready(0, {"checkpoint", "once"});
        const AttemptId second = play.asked(0);
        play.say(0, from_worker::Started{second, from});
        if (says) play.finish(0, second);
        play.exit(0, 0, 0);
        if (from == 2) {
            EXPECT_EQ(play.trial(1).state, TrialState::complete) << "a script may end early";
            continue;
        }
        play.ready(0, {"checkpoint", "once"});
        EXPECT_EQ(play.asked(0), (AttemptId{1, 3})) << "again";
        EXPECT_EQ(play.trial(1).failures, 1);
        EXPECT_THAT(play.notices, Mentions("step 5", "last", "is 2"));
    }
}

TEST(Stride, IsTheLargestGapOfTheStoredStepsOrThatOfAnotherTrial) {
    const auto trial = [](std::int64_t number, std::vector<std::int64_t> steps) {
        TrialRecord record;
        record.number = number;
        for (const std::int64_t step : steps) record.curve.push_back({.step = step});
        return record;
    };
    TrialRecord thinned = trial(3, {2, 9});
    thinned.thinned = true;
    const std::deque<TrialRecord> trials{trial(1, {5, 10}), trial(2, {1, 2}), thinned, trial(4, {})};
    EXPECT_EQ(stride_of(trials, trials[0]), 5);
    EXPECT_EQ(stride_of(trials, trials[1]), 1);
    EXPECT_EQ(stride_of(trials, trials[3]), 1);
    EXPECT_EQ(stride_of({}, trial(1, {10})), 10);
    EXPECT_EQ(stride_of({}, trial(1, {})), 0);
}

TEST_F(Failures, ACheckpointBetweenTwoReportsLacksNone) {
    for (const std::int64_t from : {12, 15, 20}) {
        MemoryStore own;
        Played play(study_of(1, 20), own, 1);
        play.ready(0, {"checkpoint", "once"});
        const AttemptId first = play.asked(0);
        play.report(0, first, 5, 0.5);
        play.report(0, first, 10, 0.4);
        play.on(0, lost_with_host());
        play.ready(0, {"checkpoint", "once"});
        const AttemptId second = play.asked(0);
        play.notices.clear();
        play.say(0, from_worker::Started{second, from, "", true});
        EXPECT_EQ(play.notices == "resumed after 12 steps\n", from == 12) << play.notices;
        play.finish(0, second);
        play.exit(0, 0, 0);
        EXPECT_EQ(play.trial(1).state == TrialState::complete, from == 12) << "from " << from;
    }
}

TEST_F(ReadyWorker, AWorkerThatSaysItEndsIsHandedNoFurtherTrial) {
    const AttemptId first = play.asked(0);
    play.report(0, first, 1, 0.5);
    play.say(0, from_worker::Finished{first, Outcome::failed, "KeyError: 'x'", {}, {}, true});
    EXPECT_EQ(play.trial(1).state, TrialState::failed);
    EXPECT_EQ(play.asked(0).trial, 0) << "it is dying";
    play.exit(0, 0, 1);
    play.ready(0);
    EXPECT_EQ(play.asked(0), (AttemptId{2, 1}));
    EXPECT_EQ(play.trial(2).failures, 0);
}

TEST_F(ReadyWorker, ATrialHandedToADyingWorkerIsNotChargedWithAnothersException) {
    const AttemptId first = play.asked(0);
    play.report(0, first, 1, 0.5);
    play.finish(0, first, Outcome::failed, "KeyError: 'x'");  // from a client that cannot announce its end
    EXPECT_EQ(play.asked(0), (AttemptId{2, 1}));
    play.exit(0, 0, 1);
    EXPECT_EQ(play.trial(2).failures, 0);
    EXPECT_THAT(play.trial(2).reason, Not(HasSubstr("words")));
    play.ready(0);
    EXPECT_EQ(play.asked(0), (AttemptId{2, 2}));
    play.exit(0, 0, 1);
    EXPECT_EQ(play.trial(2).failures, 1) << "this worker was started for it";
}

TEST_F(Failures, FinalMetricsAreKeptAlsoWhenTheLastStepHasEndedTheTrial) {
    {
        Played play(study, store, 1);
        play.ready(0);
        const AttemptId first = play.asked(0);
        play.report(0, first, 1, 0.5);
        play.report(0, first, 2, 0.4);
        ASSERT_EQ(play.trial(1).state, TrialState::complete);
        play.say(0, from_worker::Finished{first, Outcome::complete, "", {{"test_acc", 0.9}}, {}});
        EXPECT_EQ(play.trial(1).closing, (Metrics{{"test_acc", 0.9}}));
        const AttemptId second = play.asked(0);
        play.say(0, from_worker::Finished{second, Outcome::complete, "", {{"test_acc", 0.8}}, {}});
    }
    Played again(study, store, 1);
    EXPECT_EQ(again.trial(1).closing, (Metrics{{"test_acc", 0.9}}));
    EXPECT_EQ(again.trial(2).closing, (Metrics{{"test_acc", 0.8}}));
    EXPECT_EQ(again.trial(2).state, TrialState::failed);
    EXPECT_THAT(again.trial(2).reason, HasSubstr("'loss', but test_acc"));
}

TEST_F(BegunTrial, FinalMetricsThatRepeatTheTrialsValueAreNotKept) {
    play.report(0, id, 1, 0.5);
    play.report(0, id, 2, 0.4);
    ASSERT_TRUE(play.trial(1).value);
    const std::string metric = small_study().objective.metric;
    play.say(0, from_worker::Finished{id, Outcome::complete, "", {{metric, *play.trial(1).value}}, {}});
    EXPECT_TRUE(play.trial(1).closing.empty());
}

TEST_F(ReadyWorker, AResumedAttemptReceivesTheEarlierReports) {
    const auto first = play.executor.take<to_worker::Run>(0);
    ASSERT_TRUE(first);
    EXPECT_FALSE(first->done);
    Report report{.step = 1, .metrics = {{"loss", 0.5}}};
    report.seconds = 12.5;
    report.iteration = 100;
    play.say(0, from_worker::Reported{first->id, report});
    play.exit(0, SIGKILL);
    play.ready(0);
    const auto second = play.executor.take<to_worker::Run>(0);
    ASSERT_TRUE(second && second->done);
    EXPECT_EQ(second->done->step, 1);
    EXPECT_EQ(second->done->seconds, 12.5);
    EXPECT_EQ(second->done->iteration, 100);
}

TEST_F(ReadyWorker, AResumedAttemptIsToldThatNoStepIsStored) {
    // Otherwise its worker would go on from a checkpoint whose steps a loss of power has taken.
    ASSERT_TRUE(play.executor.take<to_worker::Run>(0));
    play.exit(0, SIGKILL);
    play.ready(0);
    const auto second = play.executor.take<to_worker::Run>(0);
    ASSERT_TRUE(second && second->resume && second->done);
    EXPECT_EQ(second->done->step, 0);
    EXPECT_FALSE(second->done->seconds);
}

TEST_F(ReadyWorker, ARepeatedAttemptSaysFromWhichStepItGoesOn) {
    AttemptId id = play.asked(0);
    play.say(0, from_worker::Started{id, 0, "", true});
    EXPECT_EQ(play.notices, "") << "the first attempt";
    play.report(0, id, 1, 0.5);
    for (const auto& [from, told] :
         {std::pair{1, "resumed after 1 step\n"},
          {0, "begins anew, since it found no checkpoint that it could use; its log tells more\n"}}) {
        play.exit(0, SIGKILL);
        play.ready(0);
        id = play.asked(0);
        play.notices.clear();
        play.say(0, from_worker::Started{id, 0});  // of the adapter
        EXPECT_EQ(play.notices, "");
        play.say(0, from_worker::Started{id, from, "", true});
        EXPECT_EQ(play.notices, told);
    }
}

TEST_F(ReadyWorker, ACheckpointThatIsAheadOfTheStoredStepsIsWarnedOf) {
    AttemptId id = play.asked(0);
    for (const auto& [stored, from, told] : {std::tuple{0, 1, "none is stored: step 1 is missing from its curve"},
                                             {1, 3, "the last stored one is 1: steps 2 to 3 are missing"}}) {
        if (stored > 0) play.report(0, id, stored, 0.5);
        play.exit(0, SIGKILL);
        play.ready(0);
        id = play.asked(0);
        play.notices.clear();
        play.say(0, from_worker::Started{id, from, "", true});
        EXPECT_THAT(play.notices, Mentions("step " + std::to_string(from)));
        EXPECT_THAT(play.notices, HasSubstr(told));
    }
}

/// Runs trials that each report `steps` steps in one second and then fail.
void fail(Played& play, WorkerIndex index, AttemptId id, std::int64_t steps, const std::string& message) {
    for (std::int64_t step = 1; step <= steps; ++step) play.report(index, id, step, 0.5);
    play.clock.advance(Seconds(1));
    play.finish(index, id, Outcome::failed, message);
}

TEST_F(Failures, TheFirstTrialThatOmitsAMetricOfTheStudyEndsIt) {
    Study study = study_of(100, 9);
    study.objective.constraints = {{.metric = "val_recal", .min = 0.5}};
    Played play(study, store, 1);
    play.ready(0);
    const AttemptId id = play.asked(0);
    play.say(0, from_worker::Reported{id, {.step = 1, .metrics = {{"loss", 0.5}, {"val_recall", 0.9}}}});
    EXPECT_EQ(play.trial(1).state, TrialState::failed);
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_THAT(play.engine->end_reason(), HasSubstr("no val_recal"));
    EXPECT_THAT(play.engine->end_reason(), Mentions("loss, val_recall", "'val_recall'"));
}

TEST_F(Failures, ATrialThatOmitsAMetricAfterOthersHadItEndsAlone) {
    Study study = study_of(100, 1);
    study.objective.further = {{"latency", Direction::minimize}};
    Played play(study, store, 1);
    play.ready(0);
    const AttemptId first = play.asked(0);
    play.say(0, from_worker::Reported{first, {.step = 1, .metrics = {{"loss", 0.5}, {"latency", 2}}}});
    play.finish(0, first);
    const AttemptId second = play.asked(0);
    play.report(0, second, 1, 0.5);
    play.finish(0, second, Outcome::stopped);
    EXPECT_EQ(play.trial(2).state, TrialState::failed);
    EXPECT_EQ(play.engine->end(), Engine::End::none);
}

TEST_F(Failures, ATrialThatItsScriptGivesUpIsStoppedIfItHasAValue) {
    Played play(study_of(100, 9), store, 1);
    play.ready(0);
    const AttemptId first = play.asked(0);
    play.report(0, first, 2, 0.5);
    play.say(0, from_worker::Finished{first, Outcome::stopped, "raised hpo.Pruned after step 2", {}, {}});
    EXPECT_EQ(play.trial(1).state, TrialState::stopped);
    EXPECT_EQ(play.trial(1).rule, "script");
    EXPECT_EQ(play.trial(1).reason, "raised hpo.Pruned after step 2");
    EXPECT_EQ(play.trial(1).value, 0.5);
    const AttemptId second = play.asked(0);
    play.say(0, from_worker::Finished{second, Outcome::stopped, "raised hpo.Pruned after step 2", {}, {}});
    EXPECT_EQ(play.trial(2).state, TrialState::failed);
}

TEST_F(Failures, AModuleThatThePythonLacksHasACure) {
    const std::string missing = "ModuleNotFoundError: No module named 'torch'";
    const auto end_of = [](const std::string& program, const std::string& reason) {
        MemoryStore own;
        Study study = study_of(100, 9);
        study.worker = ScriptWorker{.command = {program, "train.py"}};
        Played play(study, own, 1);
        play.ready(0);
        for (int i = 0; i < 3; ++i) play.finish(0, play.asked(0), Outcome::failed, reason);
        EXPECT_EQ(play.engine->end(), Engine::End::failed);
        return play.engine->end_reason();
    };
    EXPECT_THAT(end_of("python3", missing),
                Mentions("python3 lacks", "hpo check", "worker.command", ".venv/bin/python"));
    EXPECT_THAT(end_of("/usr/bin/python3", missing),
                ::testing::AllOf(Mentions("/usr/bin/python3 lacks", "worker.command"), Not(HasSubstr("hpo check"))));
    EXPECT_THAT(end_of("julia", missing), Not(HasSubstr("worker.command")));
    EXPECT_THAT(end_of("python3", "KeyError: 'lr'"), Not(HasSubstr("worker.command")));
}

TEST_F(Failures, ThreeAlikeBeforeAnyReportEndTheSessionAlsoWhereAnotherTrialHasRunForLessLong) {
    Played play(study_of(100, 9), store, 2);
    play.ready(0);
    AttemptId ids[2] = {play.asked(0), {}};
    play.clock.advance(Seconds(0.5));
    play.ready(1);
    ids[1] = play.asked(1);
    int failed = 0;
    for (; failed < 10 && play.engine->end() == Engine::End::none; ++failed) {
        play.clock.advance(Seconds(0.5));
        const auto worker = static_cast<WorkerIndex>(failed % 2);
        play.finish(worker, ids[worker], Outcome::failed, "No module named 'sklearn'");
        if (play.engine->end() == Engine::End::none) ids[worker] = play.asked(worker);
    }
    EXPECT_EQ(failed, 3);
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
}

TEST_F(Failures, AValueThatComesWithTheEndIsThatOfTheOnlyStepOfAScriptThatDecidesHowManyThereAre) {
    Study study = study_of(100, 9);
    study.budget.open = true;
    study.budget.epochs = 1'000'000;
    Played play(study, store, 1);
    play.ready(0);
    play.say(0, from_worker::Finished{play.asked(0), Outcome::complete, {}, {{study.objective.metric, 0.25}}, {}});
    EXPECT_EQ(play.trial(1).state, TrialState::complete);
    EXPECT_EQ(play.trial(1).value, 0.25);
    EXPECT_EQ(play.trial(1).best_step, 1);
}

TEST_F(Failures, TheFirstTrialThatEndsWellWithoutTheObjectiveEndsTheSessionUncharged) {
    const Study study = study_of(100, 9);
    {
        Played play(study, store, 1);
        play.ready(0);
        play.finish(0, play.asked(0), Outcome::complete, "never found, but val_acc");
        EXPECT_EQ(play.engine->end(), Engine::End::failed);
        EXPECT_THAT(play.engine->end_reason(), HasSubstr("never found, but val_acc"));
        EXPECT_THAT(play.engine->end_reason(), HasSubstr("command"));
        EXPECT_EQ(play.trial(1).state, TrialState::queued);
        EXPECT_EQ(play.trial(1).failures, 0);
        EXPECT_EQ(play.trial(1).reason, "never found, but val_acc");
        EXPECT_EQ(play.record().trials.size(), 1u);
    }
    // A trial that ends so again does not stand in the way of others for ever.
    Played again(study, store, 1);
    again.ready(0);
    const AttemptId id = again.asked(0);
    EXPECT_EQ(id, (AttemptId{1, 2}));
    again.finish(0, id, Outcome::complete, "never found, but val_acc");
    EXPECT_EQ(again.engine->end(), Engine::End::failed);
    EXPECT_EQ(again.trial(1).state, TrialState::failed);
}

TEST_F(Failures, AClientThatNeverReportsTheObjectiveEndsTheSessionWithTheNamesThatItReported) {
    Played play(study_of(100, 9), store, 1);
    play.ready(0);
    const AttemptId id = play.asked(0);
    play.say(0, from_worker::Reported{id, {.step = 1, .metrics = {{"val_loss", 0.5}}}});
    play.finish(0, id);
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_THAT(play.engine->end_reason(), Mentions("'loss', but val_loss", "'val_loss'"));
}

TEST_F(Failures, AWorkerForOneTrialThatExitsWellWithoutAReportEndsTheSession) {
    Played play(study_of(100, 2), store, 1);
    play.ready(0, {"once"});
    EXPECT_EQ(play.asked(0).trial, 1);
    play.exit(0, 0);
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_THAT(play.engine->end_reason(), Mentions("'loss'", "nor"));
    EXPECT_EQ(play.trial(1).state, TrialState::queued);
    EXPECT_EQ(play.trial(1).failures, 0);
}

TEST_F(Failures, ATrialThatTrainsAllItsStepsWithoutTheObjectiveEndsTheSession) {
    for (const bool by_exit : {false, true}) {
        MemoryStore own;
        Played play(study_of(100, 2), own, 1);
        play.ready(0, {"once"});
        const AttemptId id = play.asked(0);
        for (const int step : {1, 2})
            play.say(0, from_worker::Reported{id, {.step = step, .metrics = {{"val_loss", 0.5}}}});
        EXPECT_EQ(play.trial(1).state, TrialState::running);
        by_exit ? play.exit(0, 0) : play.finish(0, id);
        EXPECT_EQ(play.engine->end(), Engine::End::failed);
        EXPECT_THAT(play.engine->end_reason(), HasSubstr("'val_loss'"));
        EXPECT_EQ(play.trial(1).state, TrialState::queued);
        EXPECT_EQ(play.record().trials.size(), 1u);
    }
}

TEST_F(Failures, AnObjectiveThatOnlyTheEndOfATrialTellsIsItsValueAtItsLastStep) {
    Played play(study_of(100, 5), store, 1);
    play.ready(0);
    const auto end = [&](double loss, std::vector<std::int64_t> steps) {
        const AttemptId id = play.asked(0);
        for (const std::int64_t step : steps)
            play.say(0, from_worker::Reported{id, {.step = step, .metrics = {{"train", 0.5}}}});
        play.say(0, from_worker::Finished{id, Outcome::complete, "", {{"loss", loss}, {"test", 2}}, {}});
        return play.trial(id.trial);
    };
    for (const auto& [steps, last] :
         {std::pair<std::vector<std::int64_t>, std::int64_t>{{}, 5}, {{1, 2}, 2}, {{1, 2, 3, 4, 5}, 5}}) {
        const TrialRecord trial = end(0.25, steps);
        EXPECT_EQ(trial.state, TrialState::complete) << last;
        EXPECT_EQ(trial.value, 0.25);
        EXPECT_EQ(trial.best_step, last);
        EXPECT_EQ(trial.steps(), last);
        EXPECT_THAT(trial.closing, ::testing::IsEmpty());
    }
    EXPECT_EQ(end(std::numeric_limits<double>::quiet_NaN(), {}).state, TrialState::diverged);
    EXPECT_EQ(play.ended, (std::vector<std::int64_t>{1, 2, 3, 4}));
    EXPECT_EQ(play.engine->end(), Engine::End::none);
}

TEST_F(Failures, AValueOfStepsIsNotReplacedByTheEndOfItsTrial) {
    Played play(study_of(100, 5), store, 1);
    play.ready(0);
    const AttemptId id = play.asked(0);
    play.report(0, id, 1, 0.5);
    play.say(0, from_worker::Finished{id, Outcome::complete, "", {{"loss", 0.4}}, {}});
    EXPECT_EQ(play.trial(1).value, 0.5);
    EXPECT_EQ(play.trial(1).closing.at("loss"), 0.4);
}

TEST_F(Failures, AnEndThatTellsTheFirstObjectiveAloneFailsItsTrial) {
    Study study = study_of(100, 5);
    study.objective.further = {{"latency", Direction::minimize}};
    Played play(study, store, 1);
    play.ready(0);
    const AttemptId id = play.asked(0);
    play.say(0, from_worker::Finished{id, Outcome::complete, "", {{"loss", 0.4}}, {}});
    EXPECT_EQ(play.trial(1).state, TrialState::failed);
    EXPECT_THAT(play.engine->end_reason(), Mentions("no", "latency,", "objective"));
}

TEST_F(Failures, ATrialThatEndsWithoutTheObjectiveAfterOthersHadItFailsAlone) {
    Played play(study_of(100, 2), store, 1);
    play.ready(0);
    play.complete(0, play.asked(0));
    play.finish(0, play.asked(0), Outcome::complete, "never found");
    EXPECT_EQ(play.trial(2).state, TrialState::failed);
    EXPECT_EQ(play.trial(2).reason, "never found");
    EXPECT_EQ(play.engine->end(), Engine::End::none);
}

TEST_F(Failures, SixTrialsThatFailAlikeAfterTheirFirstStepEndTheStudyWithTheReason) {
    Played play(study_of(100, 9), store, 1);
    play.ready(0);
    for (int trial = 1; trial <= 6; ++trial) {
        ASSERT_FALSE(play.executor.terminated.contains(0)) << trial;
        // The same reason with another number.
        fail(play, 0, play.asked(0), 1, "KeyError: 'x" + std::to_string(trial) + "'\n  File \"train.py\", line 7");
    }
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_THAT(play.engine->end_reason(), Mentions("6 trials", "failed"));
    EXPECT_THAT(play.engine->end_reason(), HasSubstr("cause"));
    EXPECT_THAT(play.engine->end_reason(), HasSubstr("KeyError: 'x6'"));
    EXPECT_EQ(play.record().trials.size(), 6u);
}

TEST_F(Failures, OtherReasonsAndTrialsThatGetFurtherLetTheStudyGoOn) {
    Played play(study_of(100, 9), store, 1);
    play.ready(0);
    for (int trial = 1; trial <= 5; ++trial) fail(play, 0, play.asked(0), 1, "KeyError: 'x'");
    fail(play, 0, play.asked(0), 1, "ValueError: other");
    for (int trial = 1; trial <= 5; ++trial) fail(play, 0, play.asked(0), 1, "KeyError: 'x'");
    play.report(0, play.asked(0), 9, 0.5);  // complete
    play.finish(0, {12, 1});
    for (int trial = 1; trial <= 5; ++trial) fail(play, 0, play.asked(0), 1, "KeyError: 'x'");
    EXPECT_EQ(play.engine->end(), Engine::End::none);
    fail(play, 0, play.asked(0), 1, "KeyError: 'x'");
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
}

TEST_F(Failures, HalfOfASpaceThatFailsDoesNotEndTheTrialsOfTheOther) {
    Played play(study_of(100, 9), store, 2);
    play.ready(0);
    play.ready(1);
    play.asked(1);  // slow: it has not reported yet, and has trained for longer than those that fail
    for (int trial = 1; trial <= 20; ++trial) fail(play, 0, play.asked(0), 1, "KeyError: 'x'");
    EXPECT_EQ(play.engine->end(), Engine::End::none);
    play.report(1, {2, 1}, 1, 0.5);
    play.report(1, {2, 1}, 2, 0.4);
    for (int trial = 1; trial <= 5; ++trial) fail(play, 0, play.asked(0), 1, "KeyError: 'x'");
    EXPECT_EQ(play.engine->end(), Engine::End::none) << "it came further than those that fail";
}

// ---- Hosts that do not answer.

/// Two hosts of `cores` each, whose native trials need a core.
class SilentHost : public OneStore {
   protected:
    void begin(double cores, std::int64_t trials, int workers) {
        study.resources.trial = {};
        study.budget.trials = trials;
        const Machine::Host host{.cores = cores, .memory = 64'000 * MiB};
        play.emplace(study, store, workers, Machine{.hosts = {host, host}});
        play->ready(0, {"plan"});
    }
    void falls_silent(std::size_t host) {
        play->machine.hosts[host].usable = false;
        play->tick();
    }
    /// Answers the question about a trial. Returns the attempt that runs then.
    AttemptId plan(WorkerIndex index) {
        const auto question = play->executor.take<to_worker::Plan>(index);
        if (!question) return {};
        play->say(index, from_worker::PlanAnswer{.id = question->id, .footprint = {0, 50 * MiB, 1}});
        return play->asked(index);
    }
    std::optional<Played> play;
};

TEST_F(SilentHost, GivesTheTrialThatItsWorkerWasAskedAboutToAnother) {
    begin(1, 2, 2);
    const AttemptId first = plan(0);
    ASSERT_EQ(first.trial, 1);
    play->ready(1, {"plan"});
    const auto question = play->executor.take<to_worker::Plan>(1);
    ASSERT_TRUE(question);
    falls_silent(1);
    play->complete(0, first);
    EXPECT_EQ(plan(0).trial, 2);
    play->say(1, from_worker::PlanAnswer{.id = question->id, .footprint = {0, 50 * MiB, 1}});  // too late
    EXPECT_EQ(play->trial(2).attempt, 1);
}

TEST_F(SilentHost, GivesTheTrialThatWaitsForItsWorkersStartToAnother) {
    begin(1, 2, 2);
    const AttemptId first = plan(0);
    play->ready(1, {"plan"});
    ASSERT_EQ(plan(1).trial, 2);
    play->exit(1, SIGKILL);  // a worker starts again there, for the same trial
    ASSERT_EQ(play->executor.launched.size(), 3U);
    falls_silent(1);
    play->complete(0, first);
    EXPECT_EQ(play->asked(0).trial, 2);
}

TEST_F(SilentHost, KeepsNoWorkerFromStartingElsewhere) {
    begin(2, 4, 3);
    ASSERT_EQ(plan(0).trial, 1);
    ASSERT_EQ(play->started_on, (std::vector<std::vector<int>>{{on_host(0)}, {on_host(1)}}));
    falls_silent(1);
    ASSERT_EQ(play->started_on.size(), 3U) << "there is a core, and its worker on the other host does not answer";
    EXPECT_EQ(play->started_on.back(), std::vector<int>{on_host(0)});
}

TEST_F(SilentHost, IsLookedForOnceASecondAndNotInEachRound) {
    begin(1, 4, 2);
    ASSERT_EQ(plan(0).trial, 1);
    play->ready(1, {"plan"});
    ASSERT_EQ(plan(1).trial, 2);
    const int before = play->readings;
    for (int round = 0; round < 10; ++round) {
        play->engine->proposal_ready();
        play->engine->end_round();
    }
    EXPECT_EQ(play->readings, before) << "all workers are busy";
    play->tick();
    EXPECT_GT(play->readings, before);
}

/// Two hosts with an accelerator each, on each of which a trial runs.
class SilentHostWithDevice : public OneStore {
   protected:
    SilentHostWithDevice() {
        study.resources.trial.device_bytes = 5 * GiB;
        study.budget.trials = 4;
        Machine machine{.hosts = {{.cores = 8, .memory = 64 * GiB}, {.cores = 8, .memory = 64 * GiB}}};
        machine.accelerators = {{.id = "a/GPU-0", .memory = 8 * GiB, .host = 0},
                                {.id = "b/GPU-0", .memory = 8 * GiB, .host = 1}};
        play.emplace(study, store, 2, machine);
        for (WorkerIndex index = 0; index < 2; ++index) {
            play->ready(index);
            attempts.push_back(play->asked(index));
        }
    }
    void set_reachable(std::size_t host, bool reachable) {
        play->machine.hosts[host].usable = play->machine.accelerators[host].usable = reachable;
    }
    void pass(int seconds) {
        for (int second = 0; second < seconds; ++second) play->tick();
    }
    std::optional<Played> play;
    std::vector<AttemptId> attempts;
};

TEST_F(SilentHostWithDevice, KeepsItsDeviceItsWorkerAndItsTrial) {
    ASSERT_EQ(attempts, (std::vector<AttemptId>{{1, 1}, {2, 1}}));
    set_reachable(1, false);
    pass(20);
    EXPECT_THAT(play->notices, Not(HasSubstr("lost")));
    EXPECT_EQ(play->executor.terminated.size(), 0U);
    play->complete(0, attempts[0]);
    EXPECT_EQ(play->asked(0).trial, 3) << "the other host goes on";
    set_reachable(1, true);
    pass(1);
    EXPECT_THAT(play->notices, Not(HasSubstr("back")));
    play->complete(1, attempts[1]);
    EXPECT_EQ(play->trial(2).state, TrialState::complete);
    EXPECT_EQ(play->trial(2).attempt, 1);
    EXPECT_EQ(play->asked(1).trial, 4);
}

TEST_F(SilentHostWithDevice, GetsNoTrialAfterItsOwn) {
    set_reachable(1, false);
    pass(1);
    play->complete(1, attempts[1]);  // a repeated message
    pass(1);
    EXPECT_EQ(play->asked(1).trial, 0);
    set_reachable(1, true);
    pass(1);
    EXPECT_EQ(play->asked(1).trial, 3);
}

TEST_F(SilentHostWithDevice, DoesNotEndTheSessionWhileAllAreSilent) {
    for (const std::size_t host : {0, 1}) set_reachable(host, false);
    pass(20);
    EXPECT_EQ(play->engine->end(), Engine::End::none) << play->engine->end_reason();
    EXPECT_EQ(play->executor.terminated.size(), 0U);
    for (const std::size_t host : {0, 1}) set_reachable(host, true);
    pass(1);
    for (WorkerIndex index = 0; index < 2; ++index) play->complete(index, attempts[static_cast<std::size_t>(index)]);
    for (const std::int64_t trial : {1, 2}) EXPECT_EQ(play->trial(trial).attempt, 1) << trial;
    for (WorkerIndex index = 0; index < 2; ++index) play->complete(index, play->asked(index));
    EXPECT_EQ(play->engine->end(), Engine::End::finished) << play->engine->end_reason();
}

TEST_F(SilentHostWithDevice, ThatIsGoneForGoodLeavesNoDeviceBesideALostOne) {
    set_reachable(1, false);
    play->machine.hosts[1].gone = true;
    pass(1);
    EXPECT_EQ(play->engine->end(), Engine::End::none);
    play->machine.accelerators[0].usable = false;
    pass(1);
    EXPECT_EQ(play->engine->end(), Engine::End::failed);
    EXPECT_THAT(play->engine->end_reason(), HasSubstr("left"));
}

}  // namespace
}  // namespace hpo
