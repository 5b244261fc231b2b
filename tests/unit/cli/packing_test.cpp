#include "orchestrator/cli/packing.hpp"

#include <gmock/gmock.h>

namespace hpo {
namespace {

using testing::HasSubstr;

constexpr std::int64_t GiB = std::int64_t{1} << 30;

PackingQuestion host_question(double cores, std::int64_t memory, std::vector<Footprint> trials) {
    PackingQuestion question;
    question.machine.cores = cores;
    question.machine.memory = memory;
    question.trials = std::move(trials);
    question.most = 64;
    return question;
}

PackingQuestion device_question(std::vector<std::int64_t> devices, Footprint trial) {
    PackingQuestion question = host_question(64, 512 * GiB, {trial});
    for (std::size_t i = 0; i < devices.size(); ++i)
        question.machine.accelerators.push_back({.id = "GPU-" + std::to_string(i), .memory = devices[i]});
    question.on_device = true;
    return question;
}

TEST(Packing, SaysHowManyOfTheMixRunAtOnceAndWhatTheyBook) {
    PackingQuestion question = host_question(4, 16 * GiB, {{0, GiB, 1}, {0, 2 * GiB, 1}});
    question.machine.memory_reserve = GiB;
    question.machine.memory_others = 3 * GiB;
    const Packing packing = pack(question);
    EXPECT_EQ(packing.at_once, 4);
    ASSERT_EQ(packing.pools.size(), 1u);
    EXPECT_EQ(packing.pools[0].room, 12 * GiB);
    EXPECT_EQ(packing.pools[0].trials, 4);
    EXPECT_EQ(packing.pools[0].booked, 6 * GiB);
    EXPECT_EQ(packing.limit, "cores");
}

TEST(Packing, NamesWhatKeepsTheNextTrialFromStarting) {
    EXPECT_EQ(pack(host_question(64, 8 * GiB, {{0, 3 * GiB, 1}})).limit, "host memory");
    EXPECT_EQ(pack(host_question(2, 8 * GiB, {{0, GiB, 1}})).limit, "cores");
    EXPECT_EQ(pack(host_question(2, 2 * GiB, {{0, GiB, 1}})).limit, "cores and host memory");
    EXPECT_EQ(pack(device_question({8 * GiB, 8 * GiB}, {3 * GiB, GiB, 1})).limit, "device memory");
    PackingQuestion question = host_question(64, 512 * GiB, {{0, GiB, 1}});
    question.parallel = 5;
    EXPECT_EQ(pack(question).limit, "resources.parallel");
    question.most = 5;
    EXPECT_EQ(pack(question).limit, "the trials of the budget");
}

TEST(Packing, ShowsEachDeviceWithItsTrials) {
    PackingQuestion question = device_question({24 * GiB, 8 * GiB}, {3 * GiB, GiB, 1});
    question.machine.accelerators[0].others = 2 * GiB;
    question.machine.accelerators[1].parallel = 1;
    const Packing packing = pack(question);
    EXPECT_EQ(packing.at_once, 8);
    ASSERT_EQ(packing.pools.size(), 3u);
    EXPECT_EQ(packing.pools[0].booked, 8 * GiB);
    EXPECT_EQ(packing.pools[1].id, "GPU-0");
    EXPECT_EQ(packing.pools[1].trials, 7);
    EXPECT_EQ(packing.pools[1].booked, 21 * GiB);
    EXPECT_EQ(packing.pools[2].trials, 1);
}

TEST(Packing, TellsWhoWaitsForOtherPrograms) {
    PackingQuestion question = host_question(4, 8 * GiB, {{0, 3 * GiB, 1}});
    question.machine.memory_others = 6 * GiB;
    const Packing packing = pack(question);
    EXPECT_EQ(packing.at_once, 0);
    EXPECT_THAT(packing.kept_out, HasSubstr("used by other programs"));
    EXPECT_FALSE(never_fits(question.machine, {0, 3 * GiB, 1}, false));
    EXPECT_THAT(never_fits(question.machine, {0, 9 * GiB, 1}, false).value_or(""), HasSubstr("needs 9.000 GiB"));
}

TEST(Packing, OfNoTrialsIsTheEmptyMachine) {
    const Packing packing = pack(host_question(4, 8 * GiB, {}));
    EXPECT_EQ(packing.at_once, 0);
    EXPECT_EQ(packing.limit, "");
    EXPECT_EQ(packing.pools[0].room, 8 * GiB);
}

}  // namespace
}  // namespace hpo
