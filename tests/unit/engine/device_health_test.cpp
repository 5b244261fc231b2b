// Devices that are lost, come back, fail under their trials, or cannot start a worker.
#include "orchestrator/engine/device_health.hpp"

#include <gmock/gmock.h>

#include <array>

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Health : public ::testing::Test {
   protected:
    Health() { machine_.accelerators = {{.id = "GPU-0", .memory = 8}, {.id = "GPU-1", .memory = 8}}; }
    std::optional<std::string> fails_under(std::int64_t trial) {
        return health_.failed(0, std::array{trial}, "exit status 69", now_);
    }

    Machine machine_;
    DeviceHealth health_;
    Seconds now_{100};
};

TEST_F(Health, ALossAndAReturnAreReportedOnce) {
    machine_.accelerators[1].usable = false;
    auto changes = health_.read(machine_);
    EXPECT_THAT(changes.lost, ElementsAre(1));
    EXPECT_TRUE(changes.any_usable);
    EXPECT_TRUE(health_.is_gone(1));
    EXPECT_THAT(health_.read(machine_).lost, IsEmpty());
    machine_.accelerators[1].usable = true;
    changes = health_.read(machine_);
    EXPECT_THAT(changes.back, ElementsAre(1));
    EXPECT_FALSE(health_.is_gone(1));
}

TEST_F(Health, OfDevicesWhoseHostCannotBeReachedStaysAsItWas) {
    machine_.accelerators[1].usable = false;
    (void)health_.read(machine_);
    machine_.hosts[0].usable = false;
    for (const bool usable : {false, true}) {
        machine_.accelerators[0].usable = machine_.accelerators[1].usable = usable;
        const auto changes = health_.read(machine_);
        EXPECT_THAT(changes.lost, IsEmpty());
        EXPECT_THAT(changes.back, IsEmpty());
        EXPECT_TRUE(changes.any_usable) << "their host may answer again";
    }
    machine_.hosts[0].gone = true;
    EXPECT_FALSE(health_.read(machine_).any_usable);
    EXPECT_FALSE(health_.is_gone(0));
    EXPECT_TRUE(health_.is_gone(1));
}

TEST_F(Health, IsGivenUpAfterThreeFailuresInARowWithDifferentTrials) {
    EXPECT_FALSE(fails_under(1));
    EXPECT_FALSE(fails_under(2));
    const auto why = fails_under(1);
    ASSERT_TRUE(why);
    EXPECT_THAT(*why, Mentions("2 trials", "status 69"));
}

TEST_F(Health, RepeatedFailuresOfOneTrialAreNotChargedToTheDevice) {
    for (int times = 0; times < 10; ++times) EXPECT_FALSE(fails_under(1)) << times;
}

TEST_F(Health, ASuccessfulTrialResetsTheCountOfFailures) {
    EXPECT_FALSE(fails_under(1));
    EXPECT_FALSE(fails_under(2));
    health_.worked(0);
    EXPECT_FALSE(fails_under(3));
}

TEST_F(Health, NothingStartsForAMomentOnADeviceThatHasJustFailed) {
    fails_under(1);
    Machine soon = machine_, later = machine_;
    health_.set_cooling_aside(soon, now_ + Seconds(1));
    health_.set_cooling_aside(later, now_ + Seconds(4));
    EXPECT_FALSE(soon.accelerators[0].usable);
    EXPECT_TRUE(soon.accelerators[1].usable);
    EXPECT_TRUE(later.accelerators[0].usable);
}

TEST_F(Health, ManyLaunchesThatFailAtOnceAreOneFailure) {
    for (int times = 0; times < 10; ++times) EXPECT_FALSE(health_.start_failed(0, "no driver", now_));
    now_ += Seconds(5);
    EXPECT_FALSE(health_.start_failed(0, "no driver", now_));
    now_ += Seconds(5);
    const auto why = health_.start_failed(0, "no driver", now_);
    ASSERT_TRUE(why);
    EXPECT_THAT(*why, ::testing::HasSubstr("no driver"));
}

TEST_F(Health, AStartedWorkerResetsTheCountOfFailedLaunches) {
    for (int times = 0; times < 10; ++times) {
        EXPECT_FALSE(health_.start_failed(0, "no driver", now_)) << times;
        health_.started(0);
        now_ += Seconds(5);
    }
}

TEST_F(Health, ADeviceThatWasGivenUpHasNoCapacityAndIsNeitherLostNorBack) {
    health_.give_up(0, "device GPU-0 failed");
    health_.remove_given_up(machine_);
    EXPECT_EQ(machine_.accelerators[0].memory, 0);
    EXPECT_FALSE(machine_.accelerators[0].usable);
    EXPECT_THAT(health_.read(machine_).lost, IsEmpty());
    EXPECT_TRUE(health_.is_gone(0));
    EXPECT_EQ(health_.why_given_up(), "device GPU-0 failed");
    EXPECT_FALSE(health_.start_failed(0, "no driver", now_));
}

}  // namespace
}  // namespace hpo
