// The capacity of a machine for one trial, and the use by other programs.
#include "orchestrator/scheduling/capacity.hpp"

#include <gmock/gmock.h>

namespace hpo {
namespace {

const Machine machine{.hosts = {{.cores = 4, .memory = 100, .reserve = 10, .others = 20}},
                      .accelerators = {{.memory = 50, .reserve = 5, .others = 1},
                                       {.memory = 80, .reserve = 8, .others = 2, .usable = false}}};

TEST(Capacity, IsThatOfTheHostAndTheLargestDeviceLessTheirReserves) {
    const Footprint capacity = capacity_of(machine);
    EXPECT_EQ(capacity.host_bytes, 90);
    EXPECT_EQ(capacity.device_bytes, 72) << "a device that is set aside may come back";
    EXPECT_EQ(capacity.cores, 4);
}

TEST(Others, AreCountedOnTheGivenDeviceOrElseOnTheLargest) {
    EXPECT_EQ(others_of(machine).host_bytes, 20);
    EXPECT_EQ(others_of(machine).device_bytes, 2);
    EXPECT_EQ(others_of(machine, 0).device_bytes, 1);
}

TEST(Left, IsTheMostThatOtherProgramsLeaveInOnePlace) {
    Machine several = machine;
    several.hosts.push_back({.memory = 100, .others = 95});
    several.hosts.push_back({.memory = 900, .usable = false, .gone = true});
    several.accelerators[1].others = 72;
    EXPECT_EQ(left_of(several).host_bytes, 70);
    EXPECT_EQ(left_of(several).device_bytes, 44);
    several.accelerators[0].others = 50;
    EXPECT_EQ(left_of(several).device_bytes, 0) << "less than the reserve is left";
}

}  // namespace
}  // namespace hpo
