#include "orchestrator/scheduling/out_of_memory.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "hpo/random.hpp"
#include "tests/support/bytes.hpp"
#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using hpo::testing::GiB;
using hpo::testing::MiB;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Matches how a trial of host memory goes on alone, without waiting for other programs.
auto AtOnce(const char* amount) {
    return AllOf(Mentions("alone", amount, "memory", "reserved"), Not(HasSubstr("other")));
}

/// Matches how such a trial goes on alone as soon as other programs leave `amount`.
auto OnceOthersLeave(const char* amount) { return Mentions("alone", amount, "memory", "reserved", "once", "other"); }

MemoryDeath death_on_gpu(double reserved, double capacity = 20) {
    MemoryDeath death;
    death.reserved = {std::int64_t(reserved * double(GiB)), GiB, 1};
    death.on_device = true;
    death.capacity = {std::int64_t(capacity * double(GiB)), 64 * GiB, 16};
    return death;
}

TEST(OutOfMemory, TheFirstDeathRaisesTheReservationByHalf) {
    const auto next = after_out_of_memory(death_on_gpu(4));
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(next->reservation.device_bytes, 6 * GiB);
    EXPECT_EQ(next->reservation.host_bytes, GiB);
    EXPECT_FALSE(next->alone);
    EXPECT_THAT(next->how, AllOf(Mentions("6.000 GiB", "device", "reserved"), Not(HasSubstr("alone"))));
}

TEST(OutOfMemory, AMeasuredPeakIsReservedWithItsError) {
    MemoryDeath death = death_on_gpu(4);
    death.used.device_bytes = 10 * GiB;
    EXPECT_EQ(after_out_of_memory(death)->reservation.device_bytes, 10 * GiB + GiB / 2);
}

TEST(OutOfMemory, TheThirdDeathLeadsToTheWholeCapacityAlone) {
    MemoryDeath death = death_on_gpu(4);
    death.deaths = 3;
    death.others.device_bytes = 3 * GiB;
    const auto next = after_out_of_memory(death);
    EXPECT_TRUE(next->alone);
    EXPECT_EQ(next->reservation.device_bytes, 17 * GiB);
    EXPECT_THAT(next->how, AllOf(Mentions("alone", "17.00 GiB", "device", "reserved"), Not(HasSubstr("other"))));
}

TEST(OutOfMemory, AloneTheMicroBatchShrinksAndTheBatchStays) {
    MemoryDeath death = death_on_gpu(20);
    death.alone = true;
    death.more_micro_batches = 2;
    const auto next = after_out_of_memory(death);
    EXPECT_EQ(next->micro_batches, 2);
    EXPECT_THAT(next->how,
                AllOf(StartsWith("in 2 micro-batches"), Mentions("alone", "20.00 GiB", "device", "reserved")));
}

TEST(OutOfMemory, AWorkerThatMayRecomputeGetsTheMemoryOfSmallerMicroBatches) {
    MemoryDeath death = death_on_gpu(20);
    death.alone = true;
    death.more_micro_batches = 2;
    death.may_recompute = true;
    const auto next = after_out_of_memory(death);
    EXPECT_EQ(next->micro_batches, 2);
    EXPECT_THAT(next->how, MentionsInOrder("memory", "2 micro-batches", "alone", "20.00 GiB", "device", "reserved"));
}

TEST(OutOfMemory, IfOtherProgramsTookTheReservationTheMicroBatchShrinksAtOnce) {
    MemoryDeath death = death_on_gpu(8);
    death.others.device_bytes = 14 * GiB;
    death.more_micro_batches = 2;
    const auto next = after_out_of_memory(death);
    EXPECT_EQ(next->micro_batches, 2);
}

TEST(OutOfMemory, ATrialThatCannotShrinkReservesWhatOtherProgramsHoldAndWaits) {
    MemoryDeath death = death_on_gpu(8);
    death.others.device_bytes = 14 * GiB;
    const auto next = after_out_of_memory(death);
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(next->reservation.device_bytes, 18 * GiB);
    EXPECT_THAT(next->how, Mentions("alone", "18.00 GiB", "device", "reserved", "other"));
    // The other programs returned while it ran, so it waits again. A desktop's share does not make it wait for ever.
    death.reserved.device_bytes = 18 * GiB;
    death.alone = true;
    EXPECT_EQ(after_out_of_memory(death)->reservation.device_bytes, 18 * GiB);
    death.others.device_bytes = 2 * GiB;
    EXPECT_FALSE(after_out_of_memory(death).ok());
}

/// The first trial of a script, which declares nothing and ran alone on a host of 20 GiB.
MemoryDeath death_of_script(std::int64_t peak) {
    MemoryDeath death;
    death.reserved = {0, 0, 1};
    death.used.host_bytes = peak;
    death.alone = true;
    death.capacity = {0, 20 * GiB, 16};
    return death;
}

TEST(OutOfMemory, ATrialThatSaysSoIsReservedAtMostFourTimesItsMeasuredPeak) {
    MemoryDeath death = death_of_script(100 * MiB);
    const auto next = after_out_of_memory(death);
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(next->reservation.host_bytes, 400 * MiB);
    EXPECT_THAT(next->how, AtOnce("400.0 MiB"));
    death.reserved = next->reservation;
    ++death.deaths;
    const auto last = after_out_of_memory(death);
    ASSERT_FALSE(last.ok());
    EXPECT_THAT(last.error().message,
                MentionsInOrder("memory", "2 times", "alone", "400.0 MiB", "20.00 GiB", "100.0 MiB"));
}

TEST(OutOfMemory, TheReservationGrowsUpToFourTimesTheMeasuredPeakBesideOthersFirst) {
    MemoryDeath death = death_of_script(400 * MiB);
    death.alone = false;
    death.reserved.host_bytes = 600 * MiB;
    std::vector<std::string> steps;
    for (auto next = after_out_of_memory(death); next; next = after_out_of_memory(death)) {
        steps.push_back(next->how);
        death.reserved = next->reservation;
        death.alone = next->alone;
        ++death.deaths;
    }
    EXPECT_EQ(steps, (std::vector<std::string>{"with 900.0 MiB of memory reserved", "with 1.562 GiB of memory reserved",
                                               "alone, with 1.562 GiB of memory reserved"}));
}

TEST(OutOfMemory, WhatWasDeclaredIsNotReservedLessThanItWas) {
    MemoryDeath death = death_of_script(100 * MiB);
    death.alone = false;
    death.reserved.host_bytes = 8 * GiB;
    EXPECT_EQ(after_out_of_memory(death)->reservation.host_bytes, 8 * GiB);
    EXPECT_TRUE(after_out_of_memory(death)->alone);
}

TEST(OutOfMemory, IsTriedAtOnceBesideOtherProgramsBeforeItWaitsForThemAndNeverWaitsTwiceInARow) {
    MemoryDeath death = death_of_script(100 * MiB);
    death.others.host_bytes = 12 * GiB;
    EXPECT_THAT(after_out_of_memory(death)->how, AtOnce("400.0 MiB"));
    death.reserved.host_bytes = 400 * MiB;
    EXPECT_THAT(after_out_of_memory(death)->how, OnceOthersLeave("18.00 GiB"));
    death.waited = true;
    const auto last = after_out_of_memory(death);
    ASSERT_FALSE(last.ok());
    EXPECT_THAT(last.error().message, Mentions("12.00 GiB", "5m 00s"));
}

TEST(OutOfMemory, WhereOtherProgramsLeaveNothingOneMessageMakesItWaitForFourTimesItsPeakAndNotForTheMachine) {
    MemoryDeath death = death_of_script(100 * MiB);
    death.others.host_bytes = 20 * GiB - 30 * MiB;
    EXPECT_THAT(after_out_of_memory(death)->how, OnceOthersLeave("400.0 MiB"));
    death.reserved.host_bytes = 400 * MiB;
    ++death.deaths;
    EXPECT_THAT(after_out_of_memory(death)->how, OnceOthersLeave("18.00 GiB"));
    death.used.host_bytes = 6 * GiB;
    EXPECT_EQ(after_out_of_memory(death)->reservation.host_bytes, 18 * GiB) << "no more than there is";
}

TEST(OutOfMemory, OtherProgramsAreNotWaitedForWhereTheyLeaveManyTimesWhatATrialOnTheHostTook) {
    MemoryDeath death = death_of_script(100 * MiB);
    death.reserved.host_bytes = 400 * MiB;
    death.others.host_bytes = 4 * GiB;
    EXPECT_FALSE(after_out_of_memory(death).ok());
    death.used.host_bytes = 0;
    death.reserved.host_bytes = 16 * GiB;
    EXPECT_TRUE(after_out_of_memory(death).ok()) << "nobody knows what it took";
    death.used.host_bytes = 12 * GiB;
    EXPECT_TRUE(after_out_of_memory(death).ok());
    death = death_on_gpu(2);
    death.alone = true;
    death.used.device_bytes = GiB / 2;
    death.others.device_bytes = 4 * GiB;
    EXPECT_TRUE(after_out_of_memory(death).ok()) << "it may have taken more in between two readings";
}

TEST(OutOfMemory, TheErrorOfATrialThatIsGivenUpHasTheNumbers) {
    MemoryDeath death = death_on_gpu(20);
    death.alone = true;
    death.deaths = 6;
    death.micro_batches = 256;
    const auto next = after_out_of_memory(death);
    ASSERT_FALSE(next.ok());
    EXPECT_THAT(next.error().message, MentionsInOrder("device", "6 times", "alone", "20.00 GiB reserved", "20.00 GiB",
                                                      "device", "256 micro-batches", "cannot be smaller"));
}

TEST(OutOfMemory, AKillByTheKernelRaisesTheHostReservationOfADeviceTrialToo) {
    MemoryDeath death = death_on_gpu(4);
    death.on_device = false;
    const auto next = after_out_of_memory(death);
    EXPECT_EQ(next->reservation.device_bytes, 4 * GiB);
    EXPECT_EQ(next->reservation.host_bytes, GiB + 4 * GiB);  // at least a sixteenth of the capacity
    // Alone on its device, it may have shared the host with others.
    death.alone = true;
    EXPECT_TRUE(after_out_of_memory(death).ok());
}

TEST(OutOfMemory, IsRecognizedInAProgramsLastOutput) {
    const auto device = [](const char* text) {
        const auto found = find_out_of_memory(text, true);
        return found && found->device;
    };
    const auto host = [](const char* text, bool on_device) {
        const auto found = find_out_of_memory(text, on_device);
        return found && !found->device;
    };
    EXPECT_TRUE(device("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB"));
    EXPECT_TRUE(device("torch.OutOfMemoryError: HIP out of memory."));
    EXPECT_TRUE(device("RuntimeError: CUDA error: out of memory"));
    EXPECT_TRUE(device("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to"));
    EXPECT_TRUE(device("tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor"));
    EXPECT_TRUE(device("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"));
    EXPECT_TRUE(device("clEnqueueNDRangeKernel failed: CL_MEM_OBJECT_ALLOCATION_FAILURE"));
    EXPECT_TRUE(device("RuntimeError: MPS backend out of memory (MPS allocated: 8.90 GB, max allowed: 9.07 GB)."));
    EXPECT_TRUE(
        device("RuntimeError: [METAL] Command buffer execution failed: Insufficient Memory "
               "(00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)"));
    EXPECT_TRUE(device("RuntimeError: [malloc_or_wait] Unable to allocate 34359738368 bytes."));
    for (const bool on_device : {false, true}) {
        EXPECT_TRUE(host("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 8.00 TiB", on_device));
        EXPECT_TRUE(host("terminate called after throwing an instance of 'std::bad_alloc'\n  what(): ...", on_device));
        EXPECT_TRUE(host("OSError: [Errno 12] Cannot allocate memory", on_device));
        EXPECT_TRUE(host("RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried", on_device));
        EXPECT_TRUE(host("RuntimeError: Caught MemoryError in DataLoader worker process 0.", on_device));
        EXPECT_TRUE(host("RuntimeError: DataLoader worker (pid 42) is killed by signal: Killed.", on_device));
        EXPECT_TRUE(
            host("ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared "
                 "memory (shm).",
                 on_device));
        EXPECT_TRUE(
            host("ResourceExhaustedError: OOM when allocating tensor with shape[8,8] on /device:CPU:0 by "
                 "allocator mklcpu",
                 on_device));
        EXPECT_FALSE(find_out_of_memory("DataLoader worker (pid 42) is killed by signal: Aborted.", on_device));
        EXPECT_FALSE(find_out_of_memory("KeyError: 'lr'\nSegmentation fault", on_device));
        EXPECT_FALSE(find_out_of_memory("", on_device));
    }
    EXPECT_TRUE(host("fatal: Out of memory", false));
    EXPECT_EQ(find_out_of_memory("first\nCUDA out of memory. A\nTraceback\n", true)->line, "CUDA out of memory. A");
}

TEST(OutOfMemory, MicroBatchesHalveDownToOneSample) {
    EXPECT_EQ(next_accumulation(256, 1), 2);
    EXPECT_EQ(next_accumulation(256, 128), 256);
    EXPECT_EQ(next_accumulation(256, 256), std::nullopt);
    EXPECT_EQ(next_accumulation(257, 1), 2);
    EXPECT_EQ(next_accumulation(45, 30), 45);
    for (const std::int64_t batch : {0, -4, 1}) EXPECT_EQ(next_accumulation(batch, 1), std::nullopt);
    EXPECT_EQ(next_accumulation(256, 0), std::nullopt);
    const auto samples = [](std::int64_t batch, std::int64_t parts) { return (batch + parts - 1) / parts; };
    for (std::int64_t batch = 2; batch <= 200; ++batch) {
        std::int64_t parts = 1;
        for (auto next = next_accumulation(batch, parts); next; next = next_accumulation(batch, parts)) {
            EXPECT_LE(samples(batch, *next), (samples(batch, parts) + 1) / 2) << batch << ' ' << parts;
            parts = *next;
        }
        EXPECT_EQ(parts, batch);
    }
}

TEST(OutOfMemory, OverRandomTrialsNoAttemptIsRepeatedAndNoTrialIsGivenUpTooSoon) {
    for (std::uint64_t seed = 1; seed <= 5000 && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        std::uint64_t draws = 0;
        const auto unit = [&] { return draw_unit(seed, Purpose::synthetic, 3, draws++); };
        MemoryDeath death = death_on_gpu(unit() < 0.2 ? 0 : 20 * unit(), 20);
        death.on_device = unit() < 0.5;
        std::swap(death.reserved.host_bytes, death.on_device ? death.reserved.host_bytes : death.reserved.device_bytes);
        if (!death.on_device) death.reserved.device_bytes = 0, death.capacity.host_bytes = 20 * GiB;
        const auto kind = death.on_device ? &Footprint::device_bytes : &Footprint::host_bytes;
        death.alone = death.reserved.*kind == 0;
        const std::int64_t batch = unit() < 0.5 ? 1 : 1 + std::int64_t(4096 * unit());
        const bool measured = unit() < 0.5, calm = unit() < 0.5;
        for (;; ++death.deaths) {
            death.used.*kind = measured ? std::int64_t(unit() * 1.2 * double(death.reserved.*kind)) : 0;
            death.others.*kind = calm || unit() < 0.5 ? 0 : std::int64_t(unit() * 20 * double(GiB));
            death.more_micro_batches = next_accumulation(batch, death.micro_batches);
            ASSERT_LE(death.deaths, 40);
            const bool occupied = double(death.others.*kind) > 2 * double(GiB);
            const auto next = after_out_of_memory(death);
            if (!next) {
                if (death.deaths == 40) break;
                const bool took_little = !death.on_device && death.used.*kind > 0;
                EXPECT_FALSE((occupied && !took_little) || death.more_micro_batches);
                EXPECT_LE(death.deaths, calm && batch == 1 ? (measured ? 12 : 5) : 40);
                const double all = 20 * double(GiB), worthwhile = measured ? 4 * double(death.used.*kind) : all;
                EXPECT_GE(double(death.reserved.*kind), std::min(worthwhile, 0.9 * all) - all / 16);
                break;
            }
            EXPECT_LE(next->reservation.*kind, death.capacity.*kind);
            EXPECT_TRUE(next->reservation.*kind > death.reserved.*kind || next->micro_batches > death.micro_batches ||
                        (next->alone && !death.alone) || occupied)
                << next->how;
            EXPECT_GE(next->micro_batches, death.micro_batches);
            EXPECT_TRUE(next->micro_batches > death.micro_batches || next->reservation.*kind >= death.reserved.*kind);
            EXPECT_FALSE(next->how.empty());
            death.reserved = next->reservation;
            death.micro_batches = next->micro_batches;
            // The engine clears `alone` once a step was measured. The reservation stays.
            death.alone = next->alone && unit() < 0.5;
        }
    }
}

}  // namespace
}  // namespace hpo
