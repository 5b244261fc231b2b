#include "orchestrator/devices/selection.hpp"
#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

DeviceReading named_gpu(std::int64_t index, const std::string& id) {
    DeviceReading device;
    device.index = index;
    device.id = id;
    device.name = "Imaginary";
    device.memory = 100;
    device.used = 60;
    return device;
}

DeviceReadings machine() {
    DeviceReadings readings;
    readings.devices = {named_gpu(0, "GPU-aaaa-1"), named_gpu(1, "GPU-aabb-2"), named_gpu(2, "GPU-cccc-3")};
    DeviceReading other = named_gpu(3, "OCL-1234");
    other.kind = DeviceKind::opencl;
    other.cpu = true;
    readings.devices.push_back(other);
    return readings;
}

std::vector<std::int64_t> chosen(const DeviceReadings& readings, const std::vector<std::string>& names,
                                 const std::optional<std::string>& visible = std::nullopt) {
    const auto devices = select_devices(readings, names, visible);
    if (!devices) throw std::runtime_error(devices.error().message);
    std::vector<std::int64_t> numbers;
    for (const DeviceReading& device : *devices) numbers.push_back(device.index);
    return numbers;
}

std::string refusal(const std::vector<std::string>& names) {
    const auto devices = select_devices(machine(), names);
    return devices ? "" : devices.error().message;
}

TEST(SelectDevices, WithoutNamesTakesEveryCudaGpuThatIsNotLost) {
    DeviceReadings readings = machine();
    readings.devices[1].lost = true;
    EXPECT_THAT(chosen(readings, {}), ElementsAre(0, 2));
}

TEST(SelectDevices, TakesIndicesIdsAndPrefixesInTheirOrder) {
    EXPECT_THAT(chosen(machine(), {"2", "GPU-aaaa-1", "GPU-aab"}), ElementsAre(2, 0, 1));
}

TEST(SelectDevices, TakesAnOpenClDeviceOnlyIfItIsNamed) {
    EXPECT_THAT(chosen(machine(), {"OCL-1234"}), ElementsAre(3));
}

TEST(SelectDevices, AWholeIdIsPreferredToOneThatItIsAPrefixOf) {
    DeviceReadings readings = machine();
    readings.devices.push_back(named_gpu(4, "GPU-aaaa-12"));
    EXPECT_THAT(chosen(readings, {"GPU-aaaa-1"}), ElementsAre(0));
}

TEST(SelectDevices, AnUnknownNameIsRefusedWithAListOfDevices) {
    EXPECT_THAT(refusal({"0", "7"}),
                MentionsInOrder("resources.devices: 7",
                                "0 (Imaginary, GPU-aaaa-1), 1 (Imaginary, GPU-aabb-2), 2 (Imaginary, "
                                "GPU-cccc-3), 3 (Imaginary, OCL-1234)"));
    EXPECT_THAT(refusal({""}), HasSubstr("is not a device"));
    EXPECT_THAT(refusal({"-1"}), HasSubstr("is not a device"));
}

TEST(SelectDevices, WithoutDevicesTheErrorGivesTheReason) {
    DeviceReadings none;
    none.problem = "the driver sleeps";
    const auto devices = select_devices(none, std::vector<std::string>{"0"});
    ASSERT_FALSE(devices);
    EXPECT_THAT(devices.error().message, Mentions("device", "sleeps"));
    EXPECT_THAT(chosen(none, {}), ElementsAre());
}

TEST(SelectDevices, AnAmbiguousPrefixAndADuplicateNameAreRefused) {
    EXPECT_THAT(refusal({"GPU-aa"}), Mentions("GPU-aa", "several"));
    EXPECT_THAT(refusal({"0", "GPU-aaaa"}), HasSubstr("listed"));
}

TEST(SelectDevices, FollowsCudaVisibleDevicesUnlessDevicesAreNamed) {
    EXPECT_THAT(chosen(machine(), {}, "2,0"), ElementsAre(2, 0));
    EXPECT_THAT(chosen(machine(), {}, "GPU-cc"), ElementsAre(2));
    EXPECT_THAT(chosen(machine(), {}, "1,-1,0"), ElementsAre(1)) << "an invalid entry ends the list";
    EXPECT_THAT(chosen(machine(), {}, ""), ElementsAre());
    EXPECT_THAT(chosen(machine(), {"0"}, "2"), ElementsAre(0)) << "a name in the study takes precedence";
}

TEST(UsedByOthers, IsTheUseOfForeignProcesses) {
    DeviceReading device = named_gpu(0, "GPU-1");
    device.processes = {{10, 20}, {11, 15}, {99, 5}};
    EXPECT_EQ(used_by_others(device, std::vector<std::int64_t>{10, 11, 12}, 1000), 25);
    EXPECT_EQ(used_by(device, std::vector<std::int64_t>{10, 11, 12}), 35);
    EXPECT_EQ(used_by_others(device, {}, 0), 60);
}

TEST(UsedByOthers, IfTheDriverHidesProcessesReservationsCountAsOwnUse) {
    const DeviceReading device = named_gpu(0, "GPU-1");
    EXPECT_EQ(used_by_others(device, std::vector<std::int64_t>{10}, 45), 15);
    EXPECT_EQ(used_by_others(device, std::vector<std::int64_t>{10}, 80), 0) << "not all of the reservation is used yet";
    EXPECT_FALSE(used_by(device, std::vector<std::int64_t>{10}));
}

TEST(UsedByOthers, IsZeroIfTheUseIsUnknown) {
    DeviceReading device = named_gpu(0, "OCL-1");
    device.used.reset();
    EXPECT_EQ(used_by_others(device, {}, 0), 0);
}

}  // namespace
}  // namespace hpo
