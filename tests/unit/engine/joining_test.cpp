// Trials with one fusion key in one worker: the trials that join, their reservations, and the handling of failures.
#include <csignal>

#include "orchestrator/scheduling/concurrency.hpp"
#include "tests/support/mentions.hpp"
#include "tests/unit/engine/played.hpp"

namespace hpo {
namespace {

using hpo::testing::MemoryStore;
using hpo::testing::MiB;
using hpo::testing::Played, hpo::testing::PlayedParts;
using hpo::testing::small_study;

/// GPUs of 1000 MiB and trials that need 300 MiB of one, or 100 MiB in a worker that trains others with their key.
Machine gpus(int count) {
    Machine machine{.hosts = {{.cores = 8, .memory = 64'000 * MiB}}};
    for (int i = 1; i <= count; ++i)
        machine.accelerators.push_back({.id = "GPU-" + std::to_string(i), .memory = 1000 * MiB});
    return machine;
}

Study shaped_study(std::int64_t trials) {
    Study study = small_study();
    study.resources.trial = {};
    study.budget.trials = trials;
    study.resources.parallel = 64;
    return study;
}

class Shapes : public ::testing::Test {
   protected:
    void begin(const Study& study, int workers = 2, int devices = 1) {
        play.emplace(study, store, workers, gpus(devices));
        play->ready(0, {"plan", "micro_batch"}, 32);
    }
    /// Answers the worker's next plan request and returns its trial.
    std::int64_t plan(WorkerIndex index, const std::string& shape) {
        const auto question = play->executor.take<to_worker::Plan>(index);
        if (!question) return 0;
        play->say(index, from_worker::PlanAnswer{.id = question->id,
                                                 .footprint = {300 * MiB, 50 * MiB, 1},
                                                 .fusion_key = shape,
                                                 .colocated = {100 * MiB, 10 * MiB, 0}});
        return question->id;
    }
    /// Answers every plan request with the fusion key of its trial. Returns the trials that were asked to run, in
    /// order.
    std::vector<AttemptId> plan_all(WorkerIndex index, const std::function<std::string(std::int64_t)>& shape_of) {
        std::vector<AttemptId> running;
        for (int i = 0; i < 1000; ++i) {
            auto& queue = play->executor.sent[index];
            if (queue.empty()) break;
            const OrchestratorMessage message = queue.front();
            if (const auto* question = std::get_if<to_worker::Plan>(&message)) {
                plan(index, shape_of(question->id));
                continue;
            }
            if (const auto* run = std::get_if<to_worker::Run>(&message)) running.push_back(run->id);
            queue.pop_front();
        }
        return running;
    }
    [[nodiscard]] std::int64_t reserved_bytes() const {
        std::int64_t bytes = 0;
        for (const HeldResources& held : play->engine->held_resources())
            bytes += held.reservation.footprint.device_bytes;
        return bytes;
    }

    MemoryStore store;
    std::optional<Played> play;
};

TEST_F(Shapes, TrialsOfOneShapeFillTheDeviceInOneWorker) {
    begin(shaped_study(20));
    const auto running = plan_all(0, [](auto) { return "a"; });
    EXPECT_EQ(running.size(), 8U) << "300 MiB for the first, 100 for each further one";
    EXPECT_EQ(reserved_bytes(), 1000 * MiB);
    EXPECT_EQ(play->executor.launched.size(), 1U);
}

TEST_F(Shapes, TheBaseMemoryOfAWorkerStaysReservedUntilItsLastTrialEnds) {
    begin(shaped_study(3));
    const auto running = plan_all(0, [](auto) { return "a"; });
    ASSERT_EQ(running.size(), 3U);
    EXPECT_EQ(reserved_bytes(), 500 * MiB);
    play->complete(0, running[0]);
    EXPECT_EQ(reserved_bytes(), 400 * MiB);
    play->complete(0, running[2]);
    EXPECT_EQ(reserved_bytes(), 300 * MiB);
    play->complete(0, running[1]);
    EXPECT_EQ(reserved_bytes(), 0);
}

TEST_F(Shapes, ATrialOfAnotherShapeGetsAWorkerOfItsOwnAndThoseBehindItJoinTheirs) {
    begin(shaped_study(6));
    const auto running = plan_all(0, [](std::int64_t trial) { return trial == 2 ? "b" : "a"; });
    ASSERT_EQ(play->executor.launched.size(), 2U);
    std::vector<std::int64_t> here;
    for (const AttemptId& id : running) here.push_back(id.trial);
    EXPECT_EQ(here, (std::vector<std::int64_t>{1, 3, 4, 5, 6}));
    play->ready(1, {"plan", "micro_batch"}, 32);
    EXPECT_EQ(play->asked(1).trial, 2);
}

TEST_F(Shapes, TheNextOfTheShapeTakesThePlaceOfOneThatEnded) {
    Study study = shaped_study(12);
    study.resources.parallel = 3;
    begin(study);
    const auto running = plan_all(0, [](auto) { return "a"; });
    ASSERT_EQ(running.size(), 3U);
    play->complete(0, running[1]);
    const auto next = plan_all(0, [](auto) { return "a"; });
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next[0].trial, 4);
    EXPECT_EQ(play->executor.launched.size(), 1U);
}

TEST_F(Shapes, SeveralIdleWorkersAreAskedSideBySideAndTheFirstToAnswerTakesTheOthers) {
    play.emplace(shaped_study(4), store, 3, Machine{.hosts = {{.cores = 1, .memory = 64'000 * MiB}}});
    play->ready(0, {"plan"}, 32);
    for (const WorkerIndex index : {1, 2}) play->ready(index, {"plan"}, 32);
    std::size_t running = 0;
    for (int round = 0; round < 3; ++round)
        for (const WorkerIndex index : {1, 2, 0}) running += plan_all(index, [](auto) { return "a"; }).size();
    EXPECT_EQ(running, 4U) << "one takes the core, and trials beside it need none";
    EXPECT_EQ(reserved_bytes(), 600 * MiB);
}

TEST_F(Shapes, UnlessTheStudySaysMoreAQuarterOfItsTrialsRunAtOnce) {
    Study study = shaped_study(20);
    study.resources.parallel.reset();
    begin(study);
    EXPECT_EQ(plan_all(0, [](auto) { return "a"; }).size(), 5U);
}

TEST_F(Shapes, TheyFillSeveralDevicesEvenly) {
    Study study = shaped_study(20);
    study.resources.parallel = 8;
    begin(study, 4, 2);
    play->ready(1, {"plan", "micro_batch"}, 32);
    std::map<int, int> trials;
    for (int round = 0; round < 20; ++round)
        for (const WorkerIndex index : {0, 1}) plan(index, "a");
    for (const HeldResources& held : play->engine->held_resources()) ++trials[held.reservation.device];
    EXPECT_EQ(trials, (std::map<int, int>{{0, 4}, {1, 4}}));
    EXPECT_EQ(play->executor.launched.size(), 2U);
    EXPECT_EQ(reserved_bytes(), 1200 * MiB);
}

TEST_F(Shapes, OneThatEndsOnAFullDeviceMakesPlaceThere) {
    begin(shaped_study(40), 4, 2);
    const auto all_here = [](auto) { return "a"; };
    const auto on_first = plan_all(0, all_here);
    play->ready(1, {"plan", "micro_batch"}, 32);
    for (int round = 0; round < 8; ++round)
        for (const WorkerIndex index : {1, 0}) plan_all(index, all_here);
    ASSERT_EQ(reserved_bytes(), 2000 * MiB);
    play->complete(0, on_first.back());
    for (const WorkerIndex index : {1, 0}) plan_all(index, all_here);
    EXPECT_EQ(reserved_bytes(), 2000 * MiB);
    EXPECT_EQ(play->executor.launched.size(), 2U);
}

TEST_F(Shapes, OutOfMemoryInCompanyIsFollowedByAWorkerOfItsOwn) {
    begin(shaped_study(3));
    const auto running = plan_all(0, [](auto) { return "a"; });
    ASSERT_EQ(running.size(), 3U);
    play->finish(0, running[1], Outcome::out_of_memory, "the arena: 3 bytes short");
    EXPECT_EQ(play->trial(2).state, TrialState::queued);
    EXPECT_THAT(play->notices, Mentions("3 bytes", "queued"));
    plan_all(0, [](auto) { return "a"; });
    EXPECT_EQ(play->executor.launched.size(), 2U) << "not beside the others again";
    play->ready(1, {"plan", "micro_batch"}, 32);
    EXPECT_EQ(play->asked(1), (AttemptId{2, 2}));
    EXPECT_EQ(play->trial(2).allocation->footprint.device_bytes, 300 * MiB);
}

TEST_F(Shapes, AWorkerThatDiesWithSeveralBlamesNoneAndEachGetsOneOfItsOwn) {
    begin(shaped_study(2));
    ASSERT_EQ(plan_all(0, [](auto) { return "a"; }).size(), 2U);
    play->exit(0, SIGSEGV);
    for (const std::int64_t trial : {1, 2}) EXPECT_EQ(play->trial(trial).failures, 0);
    ASSERT_EQ(play->executor.launched.size(), 3U);
    play->ready(0, {"plan", "micro_batch"}, 32);
    play->ready(1, {"plan", "micro_batch"}, 32);
    const auto one = plan_all(0, [](auto) { return "a"; });
    const auto other = plan_all(1, [](auto) { return "a"; });
    EXPECT_EQ(one.size(), 1U);
    EXPECT_EQ(other.size(), 1U);
}

TEST_F(Shapes, TheMeasuredMemoryOfAWorkerWithSeveralTrialsIsAssignedToNone) {
    begin(shaped_study(2));
    const auto running = plan_all(0, [](auto) { return "a"; });
    ASSERT_EQ(running.size(), 2U);
    play->say(0, from_worker::Reported{running[0], {.step = 1, .metrics = {{"loss", 0.5}}, .peak_bytes = 900 * MiB}});
    play->holds[0] = {800 * MiB, 900 * MiB, 0};
    for (int second = 0; second < 4; ++second) play->tick();
    EXPECT_EQ(reserved_bytes(), 400 * MiB);
}

/// A device on which a step takes one second however many trials train side by side.
TEST_F(Shapes, ANumberThatIsTooSmallToFillTheDeviceIsCorrectedByTheRatesOfTheTrials) {
    Study study = shaped_study(400);
    study.resources.parallel.reset();
    study.budget.epochs = 1000;
    Machine machine = gpus(1);
    machine.accelerators[0].memory = 100'000 * MiB;
    play.emplace(study, store, 1, machine, PlayedParts{.concurrency = ConcurrencyPlan{{1, 1}, {}}});
    play->ready(0, {"plan", "micro_batch"}, 256);
    std::vector<AttemptId> running;
    const auto collect = [&] {
        const auto begun = plan_all(0, [](auto) { return "a"; });
        running.insert(running.end(), begun.begin(), begun.end());
    };
    collect();
    EXPECT_EQ(running.size(), static_cast<std::size_t>(fused_at_first));
    std::map<std::int64_t, std::int64_t> steps;
    for (int round = 0; round < 12; ++round) {
        play->clock.advance(Seconds(1));
        for (const AttemptId id : std::vector(running)) {
            play->report(0, id, ++steps[id.trial], 0.5);
            collect();
        }
    }
    EXPECT_EQ(running.size(), 48U) << "half as many again";
    EXPECT_EQ(play->executor.launched.size(), 1U) << "in the same worker";
}

TEST_F(Shapes, TheStudyMaySetTheNumberOfTrialsSideBySide) {
    Study study = shaped_study(400);
    study.resources.parallel.reset();
    study.resources.slots = 64;
    Machine machine = gpus(1);
    machine.accelerators[0].memory = 100'000 * MiB;
    play.emplace(study, store, 1, machine, PlayedParts{.concurrency = ConcurrencyPlan{{1, 1}, {}}});
    play->ready(0, {"plan", "micro_batch"}, 64);
    EXPECT_EQ(plan_all(0, [](auto) { return "a"; }).size(), 64U);
}

}  // namespace
}  // namespace hpo
