// Admission of trials: which of them fit, when, and on which devices.
#include "orchestrator/scheduling/admission.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/support/admit.hpp"
#include "tests/support/bytes.hpp"
#include "tests/support/mentions.hpp"

namespace hpo {

void PrintTo(const Admission::Launch& launch, std::ostream* out) {
    *out << "trial " << launch.trial << " on " << launch.device;
}

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using hpo::testing::admit;
using hpo::testing::GiB;

TrialNeeds host(std::int64_t number, std::int64_t bytes, double cores = 1) { return {number, {0, bytes, cores}}; }
TrialNeeds on_gpu(std::int64_t number, std::int64_t device_bytes, std::int64_t host_bytes = 0) {
    return {number, {device_bytes, host_bytes, 1}, 1};
}
TrialNeeds alone(TrialNeeds waiting) {
    waiting.alone = true;
    return waiting;
}
Reservation held(const TrialNeeds& waiting, int device = host_only) {
    return {waiting.trial, waiting.footprint, device, waiting.alone};
}

Accelerator gpu(const std::string& id, std::int64_t memory, std::int64_t reserve = 0, std::int64_t others = 0) {
    return {.id = id, .memory = memory, .reserve = reserve, .others = others};
}
Machine gpus(std::vector<Accelerator> accelerators) {
    return {.hosts = {{.cores = 64, .memory = 256 * GiB}}, .accelerators = std::move(accelerators)};
}

/// Matches the launch of this trial on this device.
auto Is(std::int64_t trial, int device = host_only) {
    return ::testing::AllOf(::testing::Field(&Admission::Launch::trial, trial),
                            ::testing::Field(&Admission::Launch::device, device));
}

TEST(Admission, FillsTheCoresInOrder) {
    const Machine machine{{{2, 8 * GiB, GiB, 0}}};
    const std::vector waiting{host(1, GiB), host(2, GiB), host(3, GiB)};
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch, ElementsAre(Is(1), Is(2)));
}

TEST(Admission, FillsTheMemoryExceptTheReserveAndTheUseOfOthers) {
    const Machine machine{{{16, 8 * GiB, GiB, 3 * GiB}}};
    const std::vector waiting{host(1, 2 * GiB), host(2, 2 * GiB), host(3, GiB / 2)};
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch, ElementsAre(Is(1), Is(2)));
    const std::vector running{held(host(9, 3 * GiB))};
    EXPECT_THAT(admit(machine, running, std::vector{host(3, GiB)}, {}).launch, ElementsAre(Is(3)));
    EXPECT_THAT(admit(machine, running, std::vector{host(3, GiB + 1)}, {}).launch, IsEmpty());
}

TEST(Admission, RunsAtMostParallelTrials) {
    const Machine machine{{{16, 8 * GiB, 0, 0}}};
    const std::vector running{held(host(1, GiB))};
    const std::vector waiting{host(2, GiB), host(3, GiB), host(4, GiB)};
    EXPECT_THAT(admit(machine, running, waiting, 3).launch, ElementsAre(Is(2), Is(3)));
    EXPECT_THAT(admit(machine, running, waiting, 1).launch, IsEmpty());
}

TEST(Admission, FractionsOfCoresAddUp) {
    const Machine machine{{{1, 8 * GiB, 0, 0}}};
    std::vector<TrialNeeds> waiting;
    for (int i = 1; i <= 12; ++i) waiting.push_back(host(i, 0, 0.1));
    EXPECT_EQ(admit(machine, {}, waiting, {}).launch.size(), 10u);
}

TEST(Admission, ATrialTooLargeForTheEmptyMachineIsRefusedWithTheNumbersAndBlocksNoOther) {
    const Machine machine{{{2, 8 * GiB, GiB, 0}}};
    const std::vector waiting{host(1, 9 * GiB), host(2, GiB), host(3, GiB, 4)};
    const auto admission = admit(machine, {}, waiting, {});
    EXPECT_THAT(admission.launch, ElementsAre(Is(2)));
    ASSERT_EQ(admission.never.size(), 2u);
    EXPECT_EQ(admission.never[0].trial, 1);
    EXPECT_THAT(admission.never[0].text,
                MentionsInOrder("needs 9.000 GiB", "memory", "7.000 GiB (8.000 GiB less 1.000 GiB"));
    EXPECT_THAT(admission.never[1].text, MentionsInOrder("needs 4 cores", "2 cores"));
}

TEST(Admission, ATrialThatOtherProgramsKeepOutWaitsWithTheNumbersAndBlocksNoOther) {
    const Machine machine{{{4, 8 * GiB, GiB, 6 * GiB}}};
    const auto admission = admit(machine, {}, std::vector{host(1, 4 * GiB), host(2, GiB)}, {});
    EXPECT_THAT(admission.launch, ElementsAre(Is(2)));
    EXPECT_THAT(admission.never, IsEmpty());
    ASSERT_TRUE(admission.kept_out);
    EXPECT_EQ(admission.kept_out->trial, 1);
    EXPECT_THAT(
        admission.kept_out->text,
        MentionsInOrder("needs 4.000 GiB", "memory", "1.000 GiB (8.000 GiB less 1.000 GiB", "6.000 GiB used", "other"));
    // The trial waits for those programs, not for the running trials.
    EXPECT_TRUE(admit(machine, std::vector{held(host(2, GiB))}, std::vector{host(1, 4 * GiB)}, {}).kept_out);
}

TEST(Admission, ASmallTrialOvertakesALargeOneOnlyIfItDoesNotDelayIt) {
    const Machine machine{{{16, 8 * GiB, 0, 0}}};
    const std::vector running{held(host(1, 3 * GiB)), held(host(2, 3 * GiB))};
    // The large one starts when trial 1 has ended (2 + 3 GiB free) and leaves nothing free.
    EXPECT_THAT(admit(machine, running, std::vector{host(3, 5 * GiB), host(4, GiB)}, {}).launch, IsEmpty());
    // A large trial of 4 GiB leaves one GiB free.
    EXPECT_THAT(admit(machine, running, std::vector{host(3, 4 * GiB), host(4, GiB), host(5, GiB)}, {}).launch,
                ElementsAre(Is(4)));
}

TEST(Admission, NothingIsLaunchedIfTheLiveReadingLeavesNoMemory) {
    // The running trial reserved 2 GiB and took 5.
    Machine machine{.hosts = {{.cores = 16, .memory = 8 * GiB, .reserve = GiB, .free = 3 * GiB}}};
    const std::vector running{held(host(1, 2 * GiB))};
    EXPECT_THAT(admit(machine, running, std::vector{host(2, 2 * GiB), host(3, 1)}, {}).launch, ElementsAre(Is(2)));
    const auto waits = admit(machine, running, std::vector{host(2, 2 * GiB + 1)}, {});
    EXPECT_THAT(waits.launch, IsEmpty());
    EXPECT_FALSE(waits.kept_out);  // trial 1 may end
    const auto nothing_runs = admit(machine, {}, std::vector{host(2, 2 * GiB + 1)}, {});
    ASSERT_TRUE(nothing_runs.kept_out);
    EXPECT_THAT(nothing_runs.kept_out->text, Mentions("5.000 GiB"));
}

TEST(Admission, HugeFootprintsDoNotOverflow) {
    const Machine machine{{{2, 8 * GiB, 0, 0}}};
    const auto huge = std::numeric_limits<std::int64_t>::max();
    const std::vector running{held(host(1, huge)), held(host(2, huge, std::nan(""))), held(host(3, -huge, -5))};
    const auto admission =
        admit(machine, running, std::vector{host(4, huge), host(5, -1), host(6, 1, std::nan(""))}, {});
    EXPECT_THAT(admission.launch, IsEmpty());
    EXPECT_EQ(admission.never.size(), 2u);  // the huge one and the one whose cores are not a number
}

// ---- Devices.

TEST(Devices, TrialsGoToTheDeviceWithTheFewestThenToTheLargestThenToTheFirst) {
    const Machine machine = gpus({gpu("A", 16 * GiB), gpu("B", 24 * GiB), gpu("C", 16 * GiB)});
    std::vector<TrialNeeds> waiting;
    for (int i = 1; i <= 5; ++i) waiting.push_back(on_gpu(i, 4 * GiB));
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch, ElementsAre(Is(1, 1), Is(2, 0), Is(3, 2), Is(4, 1), Is(5, 0)));
}

TEST(Devices, ATrialTakesDeviceMemoryAndAlsoHostMemoryAndCores) {
    Machine machine = gpus({gpu("A", 16 * GiB), gpu("B", 16 * GiB)});
    machine.hosts[0].memory = 10 * GiB;
    const std::vector waiting{on_gpu(1, 10 * GiB, 4 * GiB), on_gpu(2, 10 * GiB, 4 * GiB), on_gpu(3, GiB, 4 * GiB)};
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch, ElementsAre(Is(1, 0), Is(2, 1)));  // 3: no host memory
    machine.hosts[0].memory = 100 * GiB, machine.hosts[0].cores = 1;
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch, ElementsAre(Is(1, 0)));
    // Without a device, both kinds are in the host's memory.
    machine.hosts[0].memory = 5 * GiB;
    EXPECT_THAT(admit(machine, {}, std::vector{TrialNeeds{1, {3 * GiB, 3 * GiB, 1}}}, {}).never.size(), 1u);
}

TEST(Devices, ReservesAndOtherProgramsCountOnTheirOwnDevice) {
    const Machine machine = gpus({gpu("A", 16 * GiB, 2 * GiB, 8 * GiB), gpu("B", 16 * GiB, 2 * GiB)});
    const std::vector waiting{on_gpu(1, 7 * GiB), on_gpu(2, 7 * GiB), on_gpu(3, 6 * GiB), on_gpu(4, 1)};
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch, ElementsAre(Is(1, 1), Is(2, 1), Is(3, 0)));
}

TEST(Devices, EachDeviceMayHaveALimitOfItsOwn) {
    Machine machine = gpus({gpu("A", 16 * GiB), gpu("B", 16 * GiB)});
    machine.accelerators[0].parallel = 1;
    machine.accelerators[1].parallel = 2;
    std::vector<TrialNeeds> waiting;
    for (int i = 1; i <= 5; ++i) waiting.push_back(on_gpu(i, GiB));
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch, ElementsAre(Is(1, 0), Is(2, 1), Is(3, 1)));
    EXPECT_THAT(admit(machine, {}, waiting, 2).launch, ElementsAre(Is(1, 0), Is(2, 1)));
    EXPECT_THAT(admit(machine, {}, std::vector{host(9, GiB)}, {}).launch, ElementsAre(Is(9)));
}

TEST(Devices, AUnifiedDeviceSharesAPoolWithTheHost) {
    Machine machine = gpus({gpu("A", 16 * GiB)});
    machine.hosts[0].memory = 16 * GiB;
    machine.accelerators[0].unified = true;
    const std::vector waiting{on_gpu(1, 6 * GiB, GiB), host(2, 8 * GiB), host(3, GiB), host(4, 1)};
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch, ElementsAre(Is(1, 0), Is(2), Is(3)));
    machine.accelerators[0].memory = 5 * GiB;  // a limit of its own
    EXPECT_EQ(admit(machine, {}, waiting, {}).never.size(), 1u);
}

TEST(Devices, ATrialTooLargeForEveryEmptyDeviceIsRefusedWithTheNumbersOfTheLargest) {
    const Machine machine = gpus({gpu("GPU-a", 16 * GiB, GiB), gpu("GPU-b", 24 * GiB, 2 * GiB, 20 * GiB)});
    const auto admission = admit(machine, {}, std::vector{on_gpu(1, 23 * GiB), on_gpu(2, 300 * GiB, 300 * GiB)}, {});
    ASSERT_EQ(admission.never.size(), 2u);
    EXPECT_THAT(admission.never[0].text,
                MentionsInOrder("needs 23.00 GiB", "device", "GPU-b", "22.00 GiB (24.00 GiB less 2.000 GiB"));
    EXPECT_THAT(admission.never[1].text, Mentions("300.0 GiB", "256.0 GiB"));
    EXPECT_THAT(admit(gpus({}), {}, std::vector{on_gpu(1, 1)}, {}).never[0].text, HasSubstr("none"));
}

TEST(Devices, OtherProgramsOnTheDevicesMakeItWaitWithTheNumbers) {
    const Machine machine = gpus({gpu("GPU-a", 16 * GiB, GiB), gpu("GPU-b", 24 * GiB, 2 * GiB, 20 * GiB)});
    const auto admission = admit(machine, {}, std::vector{on_gpu(1, 20 * GiB), on_gpu(2, 15 * GiB)}, {});
    EXPECT_THAT(admission.launch, ElementsAre(Is(2, 0)));
    ASSERT_TRUE(admission.kept_out);
    EXPECT_THAT(admission.kept_out->text,
                MentionsInOrder("needs 20.00 GiB", "device", "GPU-b", "2.000 GiB (24.00 GiB less 2.000 GiB",
                                "20.00 GiB used", "other"));
}

TEST(Devices, ADeviceThatIsSetAsideGetsNoTrialAndOneThatFitsOnlyItWaits) {
    Machine machine = gpus({gpu("GPU-a", 16 * GiB), gpu("GPU-b", 24 * GiB)});
    machine.accelerators[1].usable = false;
    const auto admission = admit(machine, {}, std::vector{on_gpu(1, 20 * GiB), on_gpu(2, GiB), on_gpu(3, GiB)}, {});
    EXPECT_THAT(admission.launch, ElementsAre(Is(2, 0), Is(3, 0)));
    EXPECT_THAT(admission.never, IsEmpty());
    ASSERT_TRUE(admission.kept_out);
    EXPECT_THAT(admission.kept_out->text, Mentions("needs 20.00 GiB", "device", "aside: GPU-b"));
}

TEST(Devices, ALargeTrialWaitsWhereTheFewestMustEndAndOtherDevicesContinue) {
    const Machine machine = gpus({gpu("A", 16 * GiB), gpu("B", 16 * GiB)});
    const std::vector running{held(on_gpu(1, 6 * GiB), 0), held(on_gpu(2, 12 * GiB), 1), held(on_gpu(3, 6 * GiB), 0)};
    // 15 GiB: on B when trial 2 has ended; A has 4 GiB over, and B none that it could lend.
    const std::vector waiting{on_gpu(4, 15 * GiB), on_gpu(5, 2 * GiB), on_gpu(6, 4 * GiB), on_gpu(7, 2 * GiB)};
    EXPECT_THAT(admit(machine, running, waiting, {}).launch, ElementsAre(Is(5, 0), Is(7, 0)));
}

// ---- Trials whose footprints are estimates.

TEST(Alone, EachDeviceRunsOneEstimatedTrialAtATimeByItself) {
    const Machine machine = gpus({gpu("A", 16 * GiB), gpu("B", 16 * GiB)});
    const std::vector waiting{alone(on_gpu(1, 0)), alone(on_gpu(2, 0)), alone(on_gpu(3, 0)), on_gpu(4, GiB)};
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch, ElementsAre(Is(1, 0), Is(2, 1)));
    const std::vector running{held(waiting[0], 0)};
    EXPECT_THAT(admit(machine, running, std::vector{on_gpu(4, GiB), on_gpu(5, GiB)}, {}).launch,
                ElementsAre(Is(4, 1), Is(5, 1)));
    // Its footprint is known now, so others may join it.
    const std::vector measured{held(on_gpu(1, 4 * GiB), 0)};
    const std::vector more{on_gpu(4, GiB), on_gpu(5, GiB), on_gpu(6, GiB)};
    EXPECT_THAT(admit(machine, measured, more, {}).launch, ElementsAre(Is(4, 1), Is(5, 1), Is(6, 0)));
}

TEST(Alone, OnTheHostATrialHasTheWholeMachine) {
    const Machine machine = gpus({gpu("A", 16 * GiB)});
    const std::vector waiting{alone(host(1, 0)), host(2, GiB), on_gpu(3, GiB)};
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch, ElementsAre(Is(1)));
    EXPECT_THAT(admit(machine, std::vector{held(waiting[0])}, waiting, {}).launch, IsEmpty());
    EXPECT_THAT(admit(machine, std::vector{held(on_gpu(3, GiB), 0)}, std::vector{waiting[0]}, {}).launch, IsEmpty());
}

TEST(Alone, OnAUnifiedDeviceATrialHasTheWholeMachine) {
    Machine machine = gpus({gpu("A", 16 * GiB)});
    machine.accelerators[0].unified = true;
    EXPECT_THAT(admit(machine, std::vector{held(host(1, GiB))}, std::vector{alone(on_gpu(2, 0))}, {}).launch,
                IsEmpty());
    EXPECT_THAT(admit(machine, std::vector{held(alone(on_gpu(2, 0)), 0)}, std::vector{host(1, GiB)}, {}).launch,
                IsEmpty());
}

TEST(Alone, ItsDeviceDrainsWhileTheOthersContinue) {
    const Machine machine = gpus({gpu("A", 16 * GiB), gpu("B", 16 * GiB)});
    const std::vector running{held(on_gpu(1, GiB), 0), held(on_gpu(2, GiB), 1), held(on_gpu(3, GiB), 1)};
    const std::vector waiting{alone(on_gpu(4, 0)), on_gpu(5, GiB), on_gpu(6, GiB)};
    EXPECT_THAT(admit(machine, running, waiting, {}).launch, ElementsAre(Is(5, 1), Is(6, 1)));
}

/// Returns a trial that needs several devices at once.
TrialNeeds on_several(std::int64_t trial, std::int64_t bytes, std::size_t devices) {
    return {trial, {bytes, 0, 1}, devices};
}

std::vector<int> devices_of(const Admission::Launch& launch) {
    std::vector<int> devices{launch.device};
    devices.insert(devices.end(), launch.more.begin(), launch.more.end());
    return devices;
}

TEST(SeveralDevices, AreAllTakenAtOnceAndReserved) {
    const Machine machine = gpus({gpu("a", 8 * GiB), gpu("b", 12 * GiB), gpu("c", 10 * GiB), gpu("d", 4 * GiB)});
    const std::vector waiting{on_several(1, 6 * GiB, 2), on_several(2, 4 * GiB, 2), on_several(3, 5 * GiB, 2)};
    const auto admission = admit(machine, {}, waiting, {});
    ASSERT_EQ(admission.launch.size(), 2u) << "the third waits";
    EXPECT_THAT(devices_of(admission.launch[0]), ElementsAre(1, 2)) << "the roomiest";
    EXPECT_THAT(devices_of(admission.launch[1]), ElementsAre(0, 3)) << "the least used";
    // The first holds its memory on both devices.
    const std::vector running{Reservation{1, {6 * GiB, 0, 1}, 1, false, {2}}};
    const auto beside = admit(machine, running, std::vector{on_several(2, 5 * GiB, 3)}, {});
    EXPECT_THAT(beside.launch, IsEmpty()) << "6 GiB are left on b, 4 on c";
    const auto smaller = admit(machine, running, std::vector{on_several(2, 4 * GiB, 3)}, {});
    ASSERT_EQ(smaller.launch.size(), 1u);
    EXPECT_THAT(devices_of(smaller.launch[0]), ElementsAre(0, 3, 1));
}

TEST(SeveralDevices, AreRefusedWithTheNumbersIfThereAreFewer) {
    const Machine machine = gpus({gpu("a", 8 * GiB), gpu("b", 2 * GiB)});
    const auto too_many = admit(machine, {}, std::vector{on_several(1, GiB, 3)}, {});
    EXPECT_THAT(too_many.launch, IsEmpty());
    ASSERT_EQ(too_many.never.size(), 1u);
    EXPECT_THAT(too_many.never[0].text,
                MentionsInOrder("needs 3 devices", "resources.trial: gpus", "processes", "use 2"));
    const auto too_large = admit(machine, {}, std::vector{on_several(1, 4 * GiB, 2)}, {});
    ASSERT_EQ(too_large.never.size(), 1u);
    EXPECT_THAT(too_large.never[0].text,
                MentionsInOrder("needs 2 devices", "resources.trial: gpus", "processes", "use 2", "4.000 GiB", ": 1"));
    Machine lost = machine;
    lost.accelerators[0].usable = false;
    const auto waits = admit(lost, {}, std::vector{on_several(1, GiB, 2)}, {});
    EXPECT_THAT(waits.launch, IsEmpty());
    ASSERT_TRUE(waits.kept_out);
    EXPECT_THAT(waits.kept_out->text, Mentions("usable", ": 1"));
}

TEST(SeveralDevices, ATrialThatWaitsForTwoDoesNotStarve) {
    const Machine machine = gpus({gpu("a", 8 * GiB), gpu("b", 8 * GiB)});
    const std::vector running{Reservation{1, {6 * GiB, 0, 1}, 0}, Reservation{2, {6 * GiB, 0, 1}, 1}};
    const std::vector waiting{on_several(3, 4 * GiB, 2), on_several(4, 2 * GiB, 1), on_several(5, 2 * GiB, 1)};
    EXPECT_THAT(admit(machine, running, waiting, {}).launch, ElementsAre(Is(4, 0), Is(5, 1)))
        << "beside what it will hold there is room for them";
    const std::vector larger{on_several(3, 7 * GiB, 2), on_several(4, 2 * GiB, 1)};
    EXPECT_THAT(admit(machine, running, larger, {}).launch, IsEmpty());
}

/// Two hosts with two devices each.
Machine two_hosts() {
    Machine machine = gpus({gpu("a", 8 * GiB), gpu("b", 8 * GiB), gpu("c", 8 * GiB), gpu("d", 8 * GiB)});
    machine.hosts = {{.cores = 2, .memory = 8 * GiB}, {.cores = 4, .memory = 16 * GiB}};
    machine.accelerators[2].host = machine.accelerators[3].host = 1;
    return machine;
}

TEST(Hosts, EachHasItsOwnCoresAndMemory) {
    Machine machine = two_hosts();
    const std::vector waiting{host(1, 6 * GiB), host(2, 6 * GiB), host(3, 6 * GiB), host(4, 6 * GiB)};
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch,
                ElementsAre(Is(1, on_host(1)), Is(2, on_host(0)), Is(3, on_host(1))));
    const std::vector cores{host(1, 0, 2), host(2, 0, 2), host(3, 0, 2), host(4, 0, 1)};
    EXPECT_THAT(admit(machine, {}, cores, {}).launch,
                ElementsAre(Is(1, on_host(1)), Is(2, on_host(0)), Is(3, on_host(1))));
    const auto never = admit(machine, {}, std::vector{host(1, 20 * GiB), host(2, 0, 6)}, {}).never;
    ASSERT_EQ(never.size(), 2u) << "no host has as much as both together";
    EXPECT_THAT(never[0].text, Mentions("16.00 GiB"));
    EXPECT_THAT(never[1].text, MentionsInOrder("needs 6 cores", "largest", "4 cores"));
    EXPECT_EQ(admit(machine, {}, waiting, 2).launch.size(), 2u) << "the limit of trials is that of all hosts together";
    machine.hosts[1].others = 12 * GiB;
    EXPECT_THAT(admit(machine, {}, std::vector{host(1, 6 * GiB)}, {}).launch, ElementsAre(Is(1, on_host(0))));
}

TEST(Hosts, NothingStartsOnOneThatCannotBeReachedAndNothingIsTooLargeBecauseOfIt) {
    Machine machine = two_hosts();
    machine.hosts[1].usable = false;
    const std::vector waiting{host(1, 12 * GiB), host(2, 6 * GiB), on_gpu(3, GiB), on_gpu(4, GiB), on_gpu(5, GiB)};
    const auto admission = admit(machine, {}, waiting, {});
    EXPECT_THAT(admission.launch, ElementsAre(Is(2, on_host(0)), Is(3, 0)));
    EXPECT_THAT(admission.never, IsEmpty());
    machine.hosts[0].usable = false;
    const auto none = admit(machine, {}, std::vector{host(1, GiB)}, {});
    EXPECT_THAT(none.launch, IsEmpty());
    ASSERT_TRUE(none.kept_out);
    EXPECT_THAT(none.kept_out->text, Mentions("host", "none", "reached"));
}

TEST(Hosts, AQueueThatWaitsForBusyOnesIsServedAsSoonAsOneIsFree) {
    // Free cores and bytes are indexed by host, so each change of a host must reach the index.
    Machine machine;
    machine.hosts.assign(3, {.cores = 2, .memory = 10});
    FreeResources free(machine, std::nullopt, FreeResources::Of::all);
    const Demand one({0, 6, 2}, false), small({0, 3, 1}, false);
    for (int host = 0; host < 3; ++host) {
        const Devices place = free.best(one, 0);
        ASSERT_EQ(place.size(), 1U);
        free.take(one, place);
    }
    EXPECT_TRUE(free.best(one, 0).empty());
    EXPECT_TRUE(free.best(small, 0).empty()) << "no cores are left";
    free.take(one, only(on_host(1)), -1);
    EXPECT_EQ(free.best(one, 0), Devices{on_host(1)});
    free.take(small, only(on_host(1)));
    EXPECT_TRUE(free.best(one, 0).empty());
    EXPECT_EQ(free.best(small, 0), Devices{on_host(1)});
    free.set_bytes(on_host(1), 2);
    EXPECT_TRUE(free.best(small, 0).empty()) << "no memory is left";
    free.set_bytes(on_host(1), 3);
    EXPECT_EQ(free.best(small, 0), Devices{on_host(1)});
}

TEST(Hosts, ATrialOnADeviceTakesTheCoresAndTheMemoryOfItsHost) {
    const Machine machine = two_hosts();
    const std::vector waiting{on_gpu(1, GiB, 8 * GiB), on_gpu(2, GiB, 8 * GiB), on_gpu(3, GiB, 8 * GiB),
                              on_gpu(4, GiB, GiB)};
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch, ElementsAre(Is(1, 0), Is(2, 2), Is(3, 3)));
    const std::vector running{held(host(9, 7 * GiB), on_host(0))};
    EXPECT_THAT(admit(machine, running, std::vector{on_gpu(1, GiB, 2 * GiB)}, {}).launch, ElementsAre(Is(1, 2)));
    EXPECT_THAT(admit(machine, running, std::vector{alone(host(1, GiB))}, {}).launch, ElementsAre(Is(1, on_host(1))))
        << "nothing else runs there";
}

TEST(Hosts, ATrialOnSeveralDevicesHasThemOnOneHost) {
    const Machine machine = two_hosts();
    const auto devices_of = [](const Admission::Launch& launch) { return std::pair(launch.device, launch.more); };
    const std::vector running{held(on_gpu(9, GiB), 0)};
    const auto admission = admit(machine, running, std::vector{on_several(1, GiB, 2), on_several(2, GiB, 2)}, {});
    ASSERT_EQ(admission.launch.size(), 2u);
    EXPECT_EQ(devices_of(admission.launch[0]), std::pair(2, std::vector{3})) << "of which neither is in use";
    EXPECT_EQ(devices_of(admission.launch[1]), std::pair(1, std::vector{0}));
    const auto never = admit(machine, {}, std::vector{on_several(1, GiB, 3)}, {}).never;
    ASSERT_EQ(never.size(), 1u);
    EXPECT_THAT(never[0].text,
                MentionsInOrder("needs 3 devices", "resources.trial: gpus", "processes", "use 2", "one", "host"));
}

TEST(SeveralDevices, AnEstimatedTrialHasAllItsDevicesAlone) {
    const Machine machine = gpus({gpu("a", 8 * GiB), gpu("b", 8 * GiB), gpu("c", 8 * GiB)});
    const std::vector running{Reservation{1, {0, 0, 1}, 0, true, {1}}};
    const auto admission = admit(machine, running, std::vector{on_several(2, GiB, 1), on_several(3, GiB, 2)}, {});
    EXPECT_THAT(admission.launch, ElementsAre(Is(2, 2)));
}

}  // namespace
}  // namespace hpo
