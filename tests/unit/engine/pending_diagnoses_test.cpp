// Attempts whose end is only diagnosed by later readings of the devices.
#include "orchestrator/engine/pending_diagnoses.hpp"

#include <gmock/gmock.h>

#include "tests/support/bytes.hpp"

namespace hpo {
namespace {

class Diagnoses : public ::testing::Test {
   protected:
    Diagnoses() { machine_.accelerators = {{.id = "GPU-0", .memory = 8}, {.id = "GPU-1", .memory = 8}}; }

    static PendingDiagnosis ended(std::int64_t trial, int device, double until) {
        PendingDiagnosis diagnosis{.until = Seconds(until)};
        diagnosis.job.id = {trial, 1};
        diagnosis.job.order = trial;
        diagnosis.job.held.reservation = {.trial = trial, .device = device};
        return diagnosis;
    }
    std::int64_t due_at(double now) {
        const auto due = diagnoses_.take_due(health_, Seconds(now));
        return due ? due->diagnosis.job.id.trial : 0;
    }

    Machine machine_;
    DeviceHealth health_;
    Placement placement_;
    PendingDiagnoses diagnoses_{placement_};
};

TEST_F(Diagnoses, AreDueWhenTheirTimeHasComeAndThenAreHeldNoMore) {
    diagnoses_.add(ended(1, 0, 5));
    diagnoses_.add(ended(2, 1, 3));
    EXPECT_TRUE(placement_.holds(1));
    EXPECT_EQ(due_at(2), 0);
    EXPECT_EQ(due_at(3), 2);
    EXPECT_FALSE(placement_.holds(2));
    EXPECT_EQ(due_at(5), 1);
    EXPECT_TRUE(diagnoses_.empty());
}

TEST_F(Diagnoses, AreDueAtOnceWhereTheirDeviceIsLost) {
    diagnoses_.add(ended(1, 0, 5));
    diagnoses_.add(ended(2, 1, 5));
    machine_.accelerators[1].usable = false;
    (void)health_.read(machine_);
    const auto due = diagnoses_.take_due(health_, Seconds(0));
    ASSERT_TRUE(due);
    EXPECT_EQ(due->diagnosis.job.id.trial, 2);
    EXPECT_TRUE(due->device_lost);
    EXPECT_EQ(due_at(0), 0);
}

TEST_F(Diagnoses, RememberTheMostThatOtherProgramsUsedOfTheirDevice) {
    diagnoses_.add(ended(1, 1, 0));
    for (const std::int64_t others : {3, 7, 2}) {
        machine_.accelerators[1].others = others;
        diagnoses_.read(machine_);
    }
    EXPECT_EQ(diagnoses_.take_due(health_, Seconds(0))->diagnosis.others.device_bytes, 7);
}

TEST_F(Diagnoses, DeathsOnOneDeviceAreTakenTogetherAndOtherEndsAreNot) {
    PendingDiagnosis memory = ended(3, 0, 5), device = ended(4, 0, 5);
    memory.out_of_memory = true;
    device.device_failed = true;
    for (const auto& diagnosis : {ended(1, 0, 5), ended(2, 1, 5), memory, device, ended(5, 0, 5), ended(6, 0, 5)})
        diagnoses_.add(diagnosis);
    const PendingDiagnosis first = diagnoses_.take_due(health_, Seconds(5))->diagnosis;
    const auto together = diagnoses_.take_deaths_with(first, [](std::int64_t trial) { return trial != 6; });
    ASSERT_EQ(together.size(), 1U);
    EXPECT_EQ(together.front().job.id.trial, 5);
    EXPECT_EQ(diagnoses_.all().size(), 4U);
}

TEST_F(Diagnoses, ATrialThatAUserStoppedIsDropped) {
    diagnoses_.add(ended(1, 0, 5));
    diagnoses_.drop(1);
    EXPECT_TRUE(diagnoses_.empty());
    EXPECT_FALSE(placement_.holds(1));
}

}  // namespace
}  // namespace hpo
