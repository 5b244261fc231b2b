// Parallel trials by memory headroom: requirements, measured usage, and trials that run out of memory.
#include <csignal>

#include "tests/unit/engine/played.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using hpo::testing::GiB;
using hpo::testing::MemoryStore;
using hpo::testing::MiB;
using hpo::testing::Played;
using hpo::testing::ReadyWorker;
using hpo::testing::small_study;
using hpo::testing::with_devices;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Memory : public hpo::testing::OneStore {};

Study undeclared() {
    Study study = small_study();
    study.resources.trial = {};
    study.budget.trials = 8;
    study.budget.epochs = 4;
    return study;
}

/// Takes and returns the workers launched since the last call.
std::vector<WorkerIndex> launched(Played& play) {
    std::vector<WorkerIndex> workers(play.executor.launched.begin(), play.executor.launched.end());
    play.executor.launched.clear();
    return workers;
}

TEST_F(Memory, AScriptsFirstTrialRunsAloneUntilItsFirstStepHasShownWhatItTakes) {
    Played play(undeclared(), store, 4);
    ASSERT_EQ(launched(play).size(), 1u);
    play.ready(0);
    const AttemptId id = play.asked(0);
    play.holds[0] = {0, 100 * MiB, 0};
    play.tick();
    EXPECT_TRUE(launched(play).empty()) << "it may still grow in its first step";
    play.report(0, id, 1, 0.5);
    play.tick();
    EXPECT_EQ(launched(play).size(), 3u);
    EXPECT_GE(play.trial(1).peak.host_bytes, 100 * MiB) << "stored for the next session";
    EXPECT_TRUE(play.trial(1).allocation->alone);
}

TEST_F(Memory, MemoryThatAWarmWorkerStillHoldsIsNotChargedToItsNextTrial) {
    Played play(undeclared(), store, 1);
    play.ready(0);
    const AttemptId large = play.asked(0);
    play.report(0, large, 1, 0.5);
    play.holds[0] = {0, 900 * MiB, 0};
    play.tick();
    EXPECT_EQ(play.trial(1).peak.host_bytes, 900 * MiB);
    play.finish(0, large);
    const AttemptId small = play.asked(0);
    play.report(0, small, 1, 0.5);
    play.tick();  // the usage is as it was when the last trial ended
    play.holds[0] = {0, 100 * MiB, 0};
    play.tick();
    play.tick();
    EXPECT_EQ(play.trial(2).peak.host_bytes, 100 * MiB);
}

TEST_F(Memory, TheNextSessionUsesTheMeasuredMemory) {
    {
        Played play(undeclared(), store, 1);
        play.ready(0);
        play.holds[0] = {0, 100 * MiB, 0};
        play.report(0, play.asked(0), 1, 0.5);
        play.tick();
    }
    Played again(undeclared(), store, 2);
    EXPECT_EQ(launched(again).size(), 2u);
}

TEST_F(Memory, ATrialThatOtherProgramsKeepOutWaitsIsToldOnceAndStartsWhenThereIsRoom) {
    study.resources.trial.host_bytes = 600 * MiB;
    Played play(study, store, 1, {.hosts = {{.cores = 4, .memory = GiB, .others = GiB / 2}}});
    for (int i = 0; i < 100; ++i) play.tick();
    EXPECT_TRUE(launched(play).empty());
    EXPECT_THAT(play.notices, HasSubstr("waits: "));
    EXPECT_EQ(play.notices.find("waits: "), play.notices.rfind("waits: "));
    EXPECT_THAT(play.engine->waits(), HasSubstr("512"));
    EXPECT_EQ(play.engine->end(), Engine::End::none);
    play.machine.hosts[0].others = 0;
    play.tick();
    EXPECT_EQ(launched(play).size(), 1u);
    EXPECT_EQ(play.engine->waits(), "");
}

TEST_F(Memory, AReservationGivesWayToTheMeasuredPeakAndOthersMoveUp) {
    study.resources.trial.host_bytes = 700 * MiB;
    Played play(study, store, 4);  // the machine has 1 GiB
    ASSERT_EQ(launched(play).size(), 1u);
    play.ready(0);
    const AttemptId id = play.asked(0);
    play.holds[0] = {0, 100 * MiB, 0};
    play.report(0, id, 1, 0.5);
    play.tick();
    ASSERT_EQ(play.engine->held_resources().size(), 2u);
    EXPECT_LT(play.engine->held_resources()[0].reservation.footprint.host_bytes, 200 * MiB);
}

TEST_F(Memory, AnAttemptOutOfMemoryIsNeverRepeatedAsItWasAndNeverCharged) {
    study.budget.trials = 1;
    study.resources.retries = 0;
    Played play(study, store, 1);
    play.ready(0);
    std::set<std::tuple<std::int64_t, bool, std::int64_t>> seen;
    int attempts = 0;
    while (play.engine->end() == Engine::End::none) {
        ASSERT_LT(++attempts, 40) << "a loop";
        const AttemptId id = play.asked(0);
        ASSERT_EQ(id, (AttemptId{1, attempts}));
        const Allocation& given = *play.trial(1).allocation;
        EXPECT_TRUE(seen.insert({given.footprint.host_bytes, given.alone, given.micro_batches}).second)
            << "attempt " << attempts << " repeats one";
        EXPECT_EQ(play.trial(1).failures, 0);
        play.finish(0, id, Outcome::out_of_memory, "no more memory");
    }
    EXPECT_GT(attempts, 1);
    EXPECT_EQ(play.trial(1).state, TrialState::failed);
    EXPECT_TRUE(play.trial(1).allocation->alone) << "given up before it had the machine for itself";
    EXPECT_THAT(play.trial(1).reason, HasSubstr("no more memory"));
}

/// The worker says that memory ran out, in an attempt that took so much.
void run_out(Played& play, AttemptId id, std::int64_t peak) {
    play.say(0, from_worker::Finished{
                    .id = id, .outcome = Outcome::out_of_memory, .message = "MemoryError", .peak_bytes = peak});
}

class WordOfMemory : public Memory {
   protected:
    WordOfMemory() {
        study = undeclared();
        study.budget.trials = 1;
    }
    static constexpr std::int64_t gave_up_after = 301;  ///< seconds
    const Machine host{.hosts = {{.cores = 4, .memory = 20 * GiB}}};
};

TEST_F(WordOfMemory, DoesNotReserveTheMachine) {
    Played play(study, store, 1, host);
    play.ready(0);
    run_out(play, play.asked(0), 100 * MiB);
    EXPECT_THAT(play.notices, HasSubstr("alone, with 400.0 MiB"));
    play.machine.hosts[0].others = 3 * GiB;
    play.tick();
    EXPECT_EQ(play.asked(0), (AttemptId{1, 2}));
    EXPECT_EQ(play.trial(1).allocation->footprint.host_bytes, 400 * MiB);
}

TEST_F(WordOfMemory, DoesNotReserveTheMachineAfterAResume) {
    {
        Played play(study, store, 1, host);
        play.ready(0);
        run_out(play, play.asked(0), 100 * MiB);
        while (!std::holds_alternative<event::Requeued>(store.kept.back().event)) store.kept.pop_back();
    }  // killed before the second attempt
    Machine busy = host;
    busy.hosts[0].others = 3 * GiB;
    Played again(study, store, 1, busy);
    again.ready(0);
    EXPECT_EQ(again.asked(0), (AttemptId{1, 2}));
    EXPECT_EQ(again.trial(1).allocation->footprint.host_bytes, 400 * MiB);
}

TEST_F(WordOfMemory, GivesWayToTheMeasuredPeakOnceTheTrialHasGotFurther) {
    study.budget.trials = 2;
    Played play(study, store, 2, host);
    play.ready(0);
    const AttemptId first = play.asked(0);
    play.report(0, first, 1, 0.5);
    launched(play);
    run_out(play, first, 2 * GiB);
    EXPECT_TRUE(play.stop_trial(2));
    for (int death = 2; !play.trial(1).allocation->alone; ++death) {
        play.ready(0);
        const AttemptId id = play.asked(0);
        ASSERT_EQ(id, (AttemptId{1, death}));
        if (!play.trial(1).allocation->alone) run_out(play, id, 2 * GiB);
    }
    const AttemptId id{1, play.trial(1).attempt};
    play.holds[0] = {0, 100 * MiB, 0};
    play.report(0, id, 1, 0.5);
    play.tick();
    EXPECT_TRUE(play.engine->held_resources()[0].reservation.alone) << "it got so far before";
    play.report(0, id, 2, 0.5);
    play.tick();
    EXPECT_FALSE(play.engine->held_resources()[0].reservation.alone);
    EXPECT_LT(play.engine->held_resources()[0].reservation.footprint.host_bytes, 200 * MiB);
}

TEST_F(WordOfMemory, IsTriedWithWhatOtherProgramsLeaveAfterAWaitAndThenGivenUpWithAReason) {
    Machine busy = host;
    busy.hosts[0].others = 12 * GiB;
    Played play(study, store, 1, busy);
    play.ready(0);
    run_out(play, play.asked(0), 100 * MiB);
    const AttemptId second = play.asked(0);
    ASSERT_EQ(second, (AttemptId{1, 2}));
    run_out(play, second, 100 * MiB);
    EXPECT_THAT(play.notices, HasSubstr("programs"));
    for (int i = 0; i < 200; ++i) play.tick();
    EXPECT_EQ(play.asked(0).trial, 0) << "it waits for them";
    for (int i = 200; i < gave_up_after; ++i) play.tick();
    EXPECT_THAT(play.notices, Mentions("waited", "5m 00s"));
    const AttemptId third = play.asked(0);
    ASSERT_EQ(third, (AttemptId{1, 3}));
    run_out(play, third, 100 * MiB);
    EXPECT_EQ(play.trial(1).state, TrialState::failed);
    EXPECT_THAT(play.trial(1).reason, AllOf(Mentions("MemoryError;", "3 times"), Mentions("12.00 GiB")));
}

/// Lets the trial take this memory and run out of it until it waits for other programs, and then for as long as a trial
/// waits.
void run_out_and_wait(Played& play, const Footprint& takes, const std::string& message) {
    const auto asked = [&] {
        if (!launched(play).empty()) play.ready(0);
        return play.asked(0);
    };
    for (AttemptId id = asked(); id.trial != 0; id = asked()) {
        ASSERT_LT(id.attempt, 10) << "it never waits";
        if (id.attempt == 1) {
            play.holds[0] = takes;
            play.report(0, id, 1, 0.5);
            play.tick();
        }
        play.finish(0, id, Outcome::out_of_memory, message);
        for (int i = 0; i < 10; ++i) play.tick();
    }
    EXPECT_THAT(play.notices, HasSubstr("programs"));
    for (int i = 0; i < 301; ++i) play.tick();
    EXPECT_THAT(play.notices, Mentions("programs", "leave"));
    if (!launched(play).empty()) play.ready(0);
}

TEST_F(WordOfMemory, OfADeviceIsTriedWithWhatOtherProgramsLeaveOnTheLeastUsedOne) {
    Machine machine = with_devices(2);
    machine.accelerators[0].others = 3 * GiB;
    machine.accelerators[1].others = 8 * GiB;
    Played play(study, store, 1, machine);
    run_out_and_wait(play, {5 * GiB, GiB, 0}, "CUDA out of memory");
    EXPECT_EQ(play.asked(0).trial, 1);
    EXPECT_EQ(play.trial(1).allocation->device, "GPU-0");
    EXPECT_EQ(play.trial(1).allocation->footprint.device_bytes, 5 * GiB / 10 * 9);
}

TEST_F(WordOfMemory, OfTheHostIsTriedWithWhatOtherProgramsLeaveThereAlsoWhereADeviceIsFull) {
    study.resources.trial.device_bytes = GiB;
    Machine machine = with_devices(2);
    machine.hosts[0].others = 40 * GiB;
    machine.accelerators[1].others = 8 * GiB;
    Played play(study, store, 1, machine);
    run_out_and_wait(play, {GiB, 24 * GiB, 0}, "MemoryError");
    EXPECT_EQ(play.asked(0).trial, 1);
    EXPECT_EQ(play.trial(1).allocation->footprint.host_bytes, 24 * GiB / 10 * 9);
}

TEST_F(WordOfMemory, OfOneOfSeveralHostsIsTriedWithWhatOtherProgramsLeaveOnTheLeastUsedOne) {
    Machine machine = host;
    machine.hosts.push_back(host.hosts[0]);
    machine.hosts[0].others = 12 * GiB;
    machine.hosts[1].others = 20 * GiB;
    Played play(study, store, 1, machine);
    run_out_and_wait(play, {0, 8 * GiB, 0}, "MemoryError");
    const AttemptId last = play.asked(0);
    EXPECT_EQ(last.trial, 1);
    EXPECT_EQ(play.trial(1).allocation->footprint.host_bytes, 8 * GiB / 10 * 9);
    play.finish(0, last, Outcome::out_of_memory, "MemoryError");
    EXPECT_THAT(play.trial(1).reason, Mentions("12.00 GiB")) << "other programs of its own host";
}

TEST_F(Memory, ATrialThatRanOutOfMemoryHasItsMinimumAfterAResume) {
    std::int64_t reserved = 0;
    {
        Played play(study, store, 1);
        play.ready(0);
        play.finish(0, play.asked(0), Outcome::out_of_memory);
        while (!std::holds_alternative<event::Requeued>(store.kept.back().event)) store.kept.pop_back();
    }  // killed before the second attempt
    reserved = std::get<event::Launched>(store.kept.at(2).event).allocation.footprint.host_bytes;
    Played again(study, store, 1);
    again.ready(0);
    EXPECT_EQ(again.asked(0), (AttemptId{1, 2}));
    EXPECT_GT(again.trial(1).allocation->footprint.host_bytes, reserved);
}

TEST_F(ReadyWorker, AKillByTheKernelIsReportedAndReservesAtLeastTheMeasuredMemory) {
    play.asked(0);
    play.on(0, execution::Exited{.signal = SIGKILL, .out_of_memory_kill = true, .peak_bytes = 300 * MiB});
    EXPECT_THAT(play.notices, HasSubstr("killer"));
    EXPECT_EQ(play.trial(1).failures, 0);
    play.ready(0);
    EXPECT_EQ(play.asked(0), (AttemptId{1, 2}));
    EXPECT_GT(play.trial(1).allocation->footprint.host_bytes, 300 * MiB);
}

TEST_F(Memory, WhereTheWorkerCanATooLargeTrialIsTrainedInSmallerMicroBatchesOfTheSameBatch) {
    study.fixed = {{"batch_size", std::int64_t{1024}}};
    Played play(study, store, 1);  // the machine has 1 GiB
    play.ready(0, {"plan", "micro_batch"});
    std::int64_t bytes = 3 * GiB;
    for (const std::int64_t micro_batches : {1, 2, 4}) {
        const auto plan = play.executor.take<to_worker::Plan>(0);
        ASSERT_TRUE(plan);
        EXPECT_EQ(plan->id, 1);
        EXPECT_EQ(plan->params.contains("accumulation") ? std::get<std::int64_t>(plan->params.at("accumulation")) : 1,
                  micro_batches);
        EXPECT_EQ(std::get<std::int64_t>(plan->params.at("batch_size")), 1024);
        play.say(0, from_worker::PlanAnswer{.id = 1, .footprint = {0, bytes / micro_batches, 1}});
    }
    const auto run = play.executor.take<to_worker::Run>(0);
    ASSERT_TRUE(run);
    EXPECT_EQ(std::get<std::int64_t>(run->params.at("accumulation")), 4);
    EXPECT_EQ(play.trial(1).allocation->micro_batches, 4);
}

TEST_F(Memory, IdleWorkersLeaveWhenWhatTheyHoldKeepsATrialFromStarting) {
    Played play(study, store, 2);
    ASSERT_EQ(launched(play).size(), 2u);
    play.ready(0, {"plan"});
    play.ready(1, {"plan"});
    const auto small = play.executor.take<to_worker::Plan>(0);
    ASSERT_TRUE(small);
    const auto other = play.executor.take<to_worker::Plan>(1);
    ASSERT_TRUE(other);
    play.machine.hosts[0].others = 600 * MiB;  // held by idle workers, which the engine cannot know
    play.say(0, from_worker::PlanAnswer{.id = small->id, .footprint = {0, 500 * MiB, 1}});
    play.say(1, from_worker::PlanAnswer{.id = other->id, .footprint = {0, 500 * MiB, 1}});
    const auto further = play.executor.take<to_worker::Plan>(0);  // the engine asks for a smaller trial
    ASSERT_TRUE(further);
    play.say(0, from_worker::PlanAnswer{.id = further->id, .footprint = {0, 500 * MiB, 1}});
    EXPECT_EQ(play.executor.terminated.size(), 1u) << "one stays: it takes the trial";
}

TEST_F(Memory, AWorkerThatDiesWithSeveralTrialsBlamesNoneAndEachGetsAWorkerOfItsOwn) {
    study.resources.retries = 0;
    Played play(study, store, 2);
    ASSERT_EQ(launched(play).size(), 2u);
    play.ready(0, {}, 2);
    ASSERT_EQ(play.asked(0).trial, 1);
    ASSERT_EQ(play.asked(0).trial, 3) << "beside the first one; the second waits for its own worker";
    play.exit(0, SIGSEGV);
    EXPECT_EQ(play.trial(1).state, TrialState::queued);
    EXPECT_EQ(play.trial(3).state, TrialState::queued);
    EXPECT_THAT(play.notices, Mentions("worker", "2 trials"));
    ASSERT_EQ(launched(play).size(), 1u);
    play.ready(0, {}, 2);
    EXPECT_EQ(play.asked(0), (AttemptId{1, 2}));
    EXPECT_EQ(play.asked(0).trial, 0) << "alone in its worker";
    play.exit(0, SIGSEGV);
    EXPECT_EQ(play.trial(1).state, TrialState::failed) << "it died alone: charged";
    EXPECT_EQ(play.trial(3).failures, 0);
    play.ready(0, {}, 2);
    EXPECT_EQ(play.asked(0), (AttemptId{3, 2}));
}

TEST_F(Memory, TrialsSpreadOverDevicesAndEachWorkerStaysOnItsOwn) {
    study.resources.trial.device_bytes = 3 * GiB;
    study.budget.trials = 6;
    Played play(study, store, 8, with_devices(2));
    const auto workers = launched(play);
    ASSERT_EQ(workers.size(), 4u) << "two of 3 GiB on each device of 8";
    std::map<std::string, int> on;
    for (const WorkerIndex index : workers) {
        play.ready(index);
        ++on[play.trial(play.asked(index).trial).allocation->device];
    }
    EXPECT_EQ(on, (std::map<std::string, int>{{"GPU-0", 2}, {"GPU-1", 2}}));
}

TEST_F(Memory, ALostDeviceIsSetAsideAndItsTrialsAreQueuedAgainWithoutBlameWhoeverNoticesFirst) {
    study.resources.trial.device_bytes = 5 * GiB;
    study.resources.retries = 0;
    study.budget.trials = 4;
    Played play(study, store, 8, with_devices(2));
    auto workers = launched(play);
    ASSERT_EQ(workers.size(), 2u);
    std::map<int, WorkerIndex> place_of;  // by device
    std::map<WorkerIndex, AttemptId> ids;
    for (const WorkerIndex index : workers) {
        play.ready(index);
        ids[index] = play.asked(index);
        place_of[play.trial(ids[index].trial).where == "gpu 0" ? 0 : 1] = index;
    }
    // The worker dies first, and the reading of the device follows a second later.
    const std::int64_t trial = ids[place_of[0]].trial;
    play.machine.accelerators[0].usable = false;
    play.exit(place_of[0], SIGABRT);
    EXPECT_EQ(play.trial(trial).state, TrialState::running) << "not judged yet";
    play.tick();
    EXPECT_EQ(play.trial(trial).state, TrialState::queued);
    EXPECT_EQ(play.trial(trial).failures, 0);
    EXPECT_THAT(play.notices, Mentions("device GPU-0", "lost"));
    EXPECT_EQ(play.engine->end(), Engine::End::none) << "the others go on";
    // The other device is lost before its worker fails, so no device is left.
    play.machine.accelerators[1].usable = false;
    play.tick();
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_THAT(play.engine->end_reason(), HasSubstr("left"));
    EXPECT_EQ(play.trial(ids[place_of[1]].trial).state, TrialState::queued);
    EXPECT_EQ(play.trial(ids[place_of[1]].trial).failures, 0);
}

TEST_F(Memory, WorkersThatDoNotStartOnADeviceThatIsBeingLostEndNoStudy) {
    study.resources.trial.device_bytes = GiB;
    study.budget.trials = 12;
    Played play(study, store, 8, with_devices(2));
    const auto workers = launched(play);
    ASSERT_EQ(workers.size(), 8u);
    play.machine.accelerators[0].usable = false;  // the engine has not read this yet
    for (const WorkerIndex index : workers)
        if (index % 2 == 0) play.exit(index, SIGABRT);  // workers of the first device, before their hello
    EXPECT_EQ(play.engine->end(), Engine::End::none);
    play.tick();
    EXPECT_THAT(play.notices, Mentions("device GPU-0", "lost"));
    for (const WorkerIndex index : launched(play)) {
        play.ready(index);
        EXPECT_EQ(play.trial(play.asked(index).trial).allocation->device, "GPU-1");
    }
}

TEST_F(Memory, AWorkerThatNeverStartsOnASoundDeviceEndsTheStudyAfterThreeTries) {
    study.resources.trial.device_bytes = GiB;
    Played play(study, store, 2, with_devices(1));
    int tries = 0;
    for (int second = 0; second < 60 && play.engine->end() == Engine::End::none; ++second) {
        const auto workers = launched(play);
        tries += !workers.empty();
        for (const WorkerIndex index : workers) play.exit(index, 0, 1);
        play.tick();
    }
    EXPECT_EQ(play.engine->end(), Engine::End::failed);
    EXPECT_THAT(play.engine->end_reason(), Mentions("3 launches"));
    EXPECT_EQ(tries, 3);
}

TEST_F(Memory, AWorkerThatDiesOnASoundDeviceIsChargedAfterAWhile) {
    study.resources.trial.device_bytes = GiB;
    study.resources.retries = 0;
    study.budget.trials = 1;
    Played play(study, store, 1, with_devices(1));
    play.ready(0);
    play.asked(0);
    play.exit(0, SIGSEGV);
    for (int i = 0; i < 5; ++i) play.tick();
    EXPECT_EQ(play.trial(1).state, TrialState::failed);
    EXPECT_THAT(play.trial(1).reason, HasSubstr("SIGSEGV"));
}

TEST_F(WordOfMemory, IsTriedWithWhatOtherProgramsLeaveOnceTheyLeaveAnything) {
    Played play(study, store, 1, host);
    play.ready(0);
    const AttemptId first = play.asked(0);
    play.machine.hosts[0].others = 20 * GiB;
    play.tick();
    run_out(play, first, 100 * MiB);
    EXPECT_THAT(play.notices, Mentions("alone", "400.0 MiB", "programs"));
    for (int i = 0; i < 2 * gave_up_after; ++i) play.tick();
    EXPECT_EQ(play.asked(0).trial, 0);
    EXPECT_THAT(play.notices, Not(HasSubstr("tries")));
    for (const std::int64_t left : {50, 10, 40}) {  // less by the time of its launch, and then more
        play.machine.hosts[0].others = 20 * GiB - left * MiB;
        play.tick();
        if (left == 50) {
            EXPECT_THAT(play.notices, Mentions("programs", "leave"));
        }
    }
    for (int i = 0; i < gave_up_after; ++i) play.tick();
    EXPECT_EQ(play.asked(0), (AttemptId{1, 2}));
}

TEST_F(Memory, ATrialIsNotBlamedForTheMemoryThatAnotherProgramTookAMomentAgo) {
    study.resources.trial.device_bytes = 8 * GiB;  // the whole device
    study.budget.trials = 1;
    Played play(study, store, 1, with_devices(1));
    for (int attempt = 1; attempt <= 10; ++attempt) {
        play.ready(0);
        const AttemptId id = play.asked(0);
        ASSERT_EQ(id, (AttemptId{1, attempt}));
        play.finish(0, id, Outcome::out_of_memory, "no more memory");  // no reading has shown the cause yet
        EXPECT_EQ(play.trial(1).state, TrialState::queued);
        play.machine.accelerators[0].others = 5 * GiB;
        for (int i = 0; i < 10; ++i) play.tick();
        ASSERT_EQ(play.trial(1).state, TrialState::queued) << play.trial(1).reason;
        EXPECT_EQ(play.asked(0).trial, 0) << "it waits";
        play.machine.accelerators[0].others = 0;
        play.tick();
    }
    EXPECT_THAT(play.notices, HasSubstr("programs"));
}

TEST_F(Memory, MemoryOfATrialThatRanOutOfItStaysReservedUntilTheDiagnosis) {
    study.resources.trial.device_bytes = 5 * GiB;
    study.budget.trials = 2;
    Played play(study, store, 2, with_devices(1));
    play.ready(0);
    play.finish(0, play.asked(0), Outcome::out_of_memory);
    EXPECT_EQ(play.asked(0).trial, 0) << "nothing is launched into what may not be there";
    EXPECT_TRUE(play.stop_trial(1));
    EXPECT_EQ(play.asked(0).trial, 2) << "unless a user ends it";
    for (int i = 0; i < 5; ++i) play.tick();
    EXPECT_EQ(play.trial(1).state, TrialState::stopped);
}

TEST_F(Memory, TheUsageOfTheLastTrialIsNotTakenForThatOfTheNextOne) {
    study.resources.trial.device_bytes = GiB;
    study.budget.trials = 2;
    Played play(study, store, 1, with_devices(1));
    play.ready(0);
    play.complete(0, play.asked(0));
    const AttemptId next = play.asked(0);
    ASSERT_EQ(next, (AttemptId{2, 1}));
    play.report(0, next, 1, 0.5);
    play.holds[0] = {6 * GiB, MiB, 0};  // from an earlier reading
    play.tick();
    play.holds[0] = {GiB / 2, MiB, 0};
    for (int i = 0; i < 3; ++i) play.tick();
    EXPECT_EQ(play.trial(2).peak.device_bytes, GiB / 2);
}

TEST_F(Memory, AScriptThatDiesWithAnErrorOfMemoryIsReservedMoreAndNotCharged) {
    study.resources.trial.device_bytes = GiB;
    study.resources.retries = 0;
    study.budget.trials = 1;
    Played play(study, store, 1, with_devices(1));
    play.ready(0);
    play.asked(0);
    play.on(0, execution::Exited{.code = 1,
                                 .log_tail = "Traceback (most recent call last):\n"
                                             "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried 2.00 GiB"});
    for (int i = 0; i < 3; ++i) play.tick();
    EXPECT_THAT(play.notices, Mentions("1: torch.cuda.OutOfMemoryError: CUDA", "2.00 GiB", "1.500 GiB"));
    play.ready(0);
    const AttemptId second = play.asked(0);
    EXPECT_EQ(second, (AttemptId{1, 2}));
    EXPECT_EQ(play.trial(1).failures, 0);
    play.finish(0, second, Outcome::failed, "RuntimeError: CUDA error: out of memory");
    EXPECT_EQ(play.trial(1).state, TrialState::queued) << "also when it says so itself";
}

TEST_F(Memory, TheMemoryOfAnEndingWorkerStaysReservedUntilItHasExited) {
    study.resources.trial.host_bytes = 600 * MiB;
    study.resources.progress_timeout = 10;
    Played play(study, store, 2);  // the machine has 1 GiB
    ASSERT_EQ(launched(play).size(), 1u);
    play.ready(0);
    play.asked(0);
    for (int i = 0; i < 20; ++i) play.tick();
    EXPECT_TRUE(play.executor.terminated.contains(0));
    EXPECT_TRUE(launched(play).empty()) << "its memory is still taken";
    play.exit(0, SIGKILL);
    EXPECT_EQ(launched(play).size(), 1u);
}

TEST_F(Memory, PatienceCountsPausedTrials) {
    study.budget.trials = 50;
    study.budget.epochs = 9;
    study.budget.patience = 4;
    study.stopping = {{"asha", {{"grace", std::int64_t{1}}, {"factor", std::int64_t{3}}}}};
    Played play(study, store, 1);
    play.ready(0);
    for (AttemptId id = play.asked(0); id.trial != 0; id = play.asked(0)) {
        for (std::int64_t step = play.trial(id.trial).steps() + 1;; ++step) {
            // The first trial is the best one.
            const auto action = play.report(0, id, step, id.trial == 1 ? 0.1 : 1.0 + double(id.trial));
            if (action == to_worker::Action::go_on && step < study.budget.epochs) continue;
            play.finish(0, id, action == to_worker::Action::pause ? Outcome::paused : Outcome::stopped);
            break;
        }
    }
    EXPECT_EQ(play.engine->end(), Engine::End::finished);
    EXPECT_LT(play.record().trials.size(), 12u);
    EXPECT_THAT(play.engine->end_reason(), HasSubstr("budget.patience"));
}

}  // namespace
}  // namespace hpo
