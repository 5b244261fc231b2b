#include "orchestrator/preview/packing.hpp"

#include <gmock/gmock.h>

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t MiB = std::int64_t{1} << 20;
constexpr std::int64_t GiB = std::int64_t{1} << 30;

PackingQuestion host_question(double cores, std::int64_t memory, const std::vector<Footprint>& trials) {
    PackingQuestion question;
    question.machine.hosts[0].cores = cores;
    question.machine.hosts[0].memory = memory;
    for (const Footprint& footprint : trials) question.trials.push_back({footprint, {}, {}});
    question.budget_trials = 64;
    return question;
}

PackingQuestion device_question(std::vector<std::int64_t> devices, Footprint trial) {
    PackingQuestion question = host_question(64, 512 * GiB, {trial});
    for (std::size_t i = 0; i < devices.size(); ++i)
        question.machine.accelerators.push_back({.id = "GPU-" + std::to_string(i), .memory = devices[i]});
    question.on_device = true;
    return question;
}

TEST(Packing, CountsTheTrialsThatRunAtOnceAndTheirReservations) {
    PackingQuestion question = host_question(4, 16 * GiB, {{0, GiB, 1}, {0, 2 * GiB, 1}});
    question.machine.hosts[0].reserve = GiB;
    question.machine.hosts[0].others = 3 * GiB;
    const Packing packing = pack(question);
    EXPECT_EQ(packing.at_once, 4);
    ASSERT_EQ(packing.pools.size(), 1u);
    EXPECT_EQ(packing.pools[0].available, 12 * GiB);
    EXPECT_EQ(packing.pools[0].trials, 4);
    EXPECT_EQ(packing.pools[0].reserved, 6 * GiB);
    EXPECT_EQ(packing.limit, "cores");
}

TEST(Packing, NamesTheLimitThatHoldsBackTheNextTrial) {
    EXPECT_EQ(pack(host_question(64, 8 * GiB, {{0, 3 * GiB, 1}})).limit, "host memory");
    EXPECT_EQ(pack(host_question(2, 8 * GiB, {{0, GiB, 1}})).limit, "cores");
    EXPECT_EQ(pack(host_question(2, 2 * GiB, {{0, GiB, 1}})).limit, "cores and host memory");
    EXPECT_EQ(pack(device_question({8 * GiB, 8 * GiB}, {3 * GiB, GiB, 1})).limit, "device memory");
    PackingQuestion question = host_question(64, 512 * GiB, {{0, GiB, 1}});
    question.parallel = 5;
    EXPECT_EQ(pack(question).limit, "resources.parallel");
    question.budget_trials = 5;
    EXPECT_EQ(pack(question).limit, "the trials of the budget");
}

TEST(Packing, ShowsEachDeviceWithItsTrials) {
    PackingQuestion question = device_question({24 * GiB, 8 * GiB}, {3 * GiB, GiB, 1});
    question.machine.accelerators[0].others = 2 * GiB;
    question.machine.accelerators[1].parallel = 1;
    const Packing packing = pack(question);
    EXPECT_EQ(packing.at_once, 8);
    ASSERT_EQ(packing.pools.size(), 3u);
    EXPECT_EQ(packing.pools[0].reserved, 8 * GiB);
    EXPECT_EQ(packing.pools[1].id, "GPU-0");
    EXPECT_EQ(packing.pools[1].trials, 7);
    EXPECT_EQ(packing.pools[1].reserved, 21 * GiB);
    EXPECT_EQ(packing.pools[2].trials, 1);
}

TEST(Packing, ATrialThatFitsOnlyAnIdleMachineWaitsForOtherPrograms) {
    PackingQuestion question = host_question(4, 8 * GiB, {{0, 3 * GiB, 1}});
    question.machine.hosts[0].others = 6 * GiB;
    const Packing packing = pack(question);
    EXPECT_EQ(packing.at_once, 0);
    EXPECT_THAT(packing.kept_out, HasSubstr("other"));
    EXPECT_FALSE(never_fits(question.machine, {0, 3 * GiB, 1}, false));
    EXPECT_THAT(never_fits(question.machine, {0, 9 * GiB, 1}, false).value_or(""), HasSubstr("needs 9.000 GiB"));
}

/// Asks about trials with these fusion keys. A trial takes 300 MiB of the device, or 100 MiB in a worker that already
/// trains others with its key.
PackingQuestion fusable_question(double cores, std::int64_t slots, const std::vector<std::string>& fusion_keys) {
    PackingQuestion question = device_question({GiB}, {});
    question.machine.hosts[0].cores = cores;
    question.workers = static_cast<std::int64_t>(cores);
    question.slots = slots;
    question.trials.clear();
    for (const std::string& fusion_key : fusion_keys)
        question.trials.push_back({{300 * MiB, 50 * MiB, 1}, fusion_key, {100 * MiB, 10 * MiB, 0}});
    return question;
}

TEST(Packing, FusableTrialsShareAWorkerWhoseMemoryTheFirstReserves) {
    const Packing packing = pack(fusable_question(1, 6, {"a"}));
    EXPECT_EQ(packing.at_once, 6);
    EXPECT_EQ(packing.pools[0].reserved, 100 * MiB);
    EXPECT_EQ(packing.pools[1].trials, 6);
    EXPECT_EQ(packing.pools[1].reserved, 800 * MiB);
    EXPECT_EQ(packing.limit, "resources.slots") << "a second worker would not fit the device";
    PackingQuestion question = fusable_question(1, 6, {"a"});
    question.slots_by_default = true;
    EXPECT_THAT(pack(question).limit, MentionsInOrder("resources.slots (auto: 6", "more"));
}

TEST(Packing, AFullWorkerIsFollowedByAnother) {
    const Packing packing = pack(fusable_question(2, 3, {"a"}));
    EXPECT_EQ(packing.at_once, 6);
    EXPECT_EQ(packing.pools[1].reserved, 2 * 500 * MiB);
}

TEST(Packing, FusableTrialsFillSeveralDevicesEvenly) {
    PackingQuestion question = fusable_question(8, 32, {"a"});
    question.machine.accelerators.push_back({.id = "GPU-2", .memory = 5 * GiB});
    question.parallel = 8;
    const Packing packing = pack(question);
    EXPECT_EQ(packing.at_once, 8);
    EXPECT_EQ(packing.pools[1].reserved, 600 * MiB);
    EXPECT_EQ(packing.pools[2].reserved, 600 * MiB);
}

TEST(Packing, FusedTrialsAreLimitedByTheResourceThatRunsOutFirst) {
    EXPECT_EQ(pack(fusable_question(8, 32, {"a"})).limit, "device memory");
    EXPECT_EQ(pack(fusable_question(8, 32, {"a"})).at_once, 8) << "300 MiB and 7 x 100 MiB of 1024 MiB";
    PackingQuestion question = fusable_question(1, 6, {"a"});
    question.machine.hosts[0].cores = 8;
    question.machine.accelerators[0].memory = 64 * GiB;
    EXPECT_EQ(pack(question).at_once, 48);
    question.parallel = 16;
    EXPECT_EQ(pack(question).limit, "resources.parallel");
    question.parallel_by_default = true;
    EXPECT_THAT(pack(question).limit, MentionsInOrder("resources.parallel (auto: ", "quarter", "core"));
}

TEST(Packing, TrialsWithDifferentFusionKeysNeedAWorkerEach) {
    const std::vector<std::string> fusion_keys{"a", "b", "c", "d", "e", "f", "g", "h"};
    PackingQuestion question = fusable_question(2, 6, fusion_keys);
    question.budget_trials = 8;
    question.parallel = 2;
    question.parallel_by_default = true;
    EXPECT_EQ(pack(question).at_once, 2);
    EXPECT_EQ(pack(question).pools[1].reserved, 600 * MiB);
    EXPECT_EQ(pack(question).limit, "cores") << "not the default of resources.parallel, which is chosen by the cores";
    question.trials = {question.trials[0]};
    question.slots = 1;
    EXPECT_EQ(pack(question).limit, "cores");
}

TEST(Packing, FusableTrialsOvertakeAWaitingTrialWithAnotherKey) {
    const Packing packing = pack(fusable_question(1, 16, {"a", "b"}));
    EXPECT_EQ(packing.at_once, 4);
    EXPECT_EQ(packing.pools[1].reserved, 600 * MiB);
    EXPECT_EQ(pack(fusable_question(1, 4, {"a", "b"})).at_once, 1)
        << "with so few slots the engine does not look further into the queue";
}

TEST(Packing, EachTrialThatStartsReducesTheFreeMemory) {
    PackingQuestion question = fusable_question(8, 6, {"a"});
    question.machine.accelerators[0].free = 550 * MiB;
    EXPECT_EQ(pack(question).at_once, 3);
    EXPECT_EQ(pack(question).pools[1].reserved, 500 * MiB);
}

TEST(Packing, WithoutTrialsTheMachineIsEmpty) {
    const Packing packing = pack(host_question(4, 8 * GiB, {}));
    EXPECT_EQ(packing.at_once, 0);
    EXPECT_EQ(packing.limit, "");
    EXPECT_EQ(packing.pools[0].available, 8 * GiB);
}

}  // namespace
}  // namespace hpo
