#include "orchestrator/devices/assess.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "orchestrator/devices/device_codec.hpp"
#include "orchestrator/devices/nvml.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

DeviceReading gpu(std::int64_t index, const std::string& id, const std::string& pci = "") {
    DeviceReading device;
    device.index = index;
    device.id = id;
    device.pci = pci;
    device.memory = 100;
    return device;
}

TEST(Assess, ADeviceThatNeverHadAnIdIsReportedButNotListed) {
    DeviceReading nameless = gpu(1, "");
    nameless.lost = true;
    nameless.reason = "it fell off";
    const auto now = assess({}, {}, {.devices = {gpu(0, "GPU-a"), nameless}});
    EXPECT_THAT(now.devices, SizeIs(1));
    EXPECT_EQ(now.problem, "GPU 1 cannot be used: it fell off");
}

TEST(Assess, DevicesStayInTheOrderOfTheirIndices) {
    const auto now = assess({}, {.devices = {gpu(0, "GPU-a"), gpu(1, "GPU-b")}}, {.devices = {gpu(1, "GPU-b")}});
    ASSERT_THAT(now.devices, SizeIs(2));
    EXPECT_EQ(now.devices[0].id, "GPU-a");
    EXPECT_TRUE(now.devices[0].lost);
    EXPECT_FALSE(now.devices[1].lost);
}

TEST(Merge, ADeviceOfBothListsAppearsOnceByUuidOrPciAddress) {
    DeviceReadings nvidia{.devices = {gpu(0, "GPU-a", "00000000:01:00.0"), gpu(1, "GPU-b")}};
    DeviceReadings opencl;
    for (DeviceReading device :
         {gpu(0, "OCL-1", "00000000:01:00.0"), gpu(1, "GPU-b"), gpu(2, "OCL-2", "00000000:03:00.0"), gpu(3, "OCL-3")}) {
        device.kind = DeviceKind::opencl;
        opencl.devices.push_back(device);
    }
    const auto all = merge(nvidia, opencl);
    ASSERT_THAT(all.devices, SizeIs(4));
    EXPECT_EQ(all.devices[2].id, "OCL-2");
    EXPECT_EQ(all.devices[2].index, 2);
    EXPECT_EQ(all.devices[3].id, "OCL-3");
    EXPECT_EQ(all.devices[3].index, 3);
}

TEST(Codec, KeepsEveryFieldAndWhichOnesAreUnknown) {
    DeviceReading full = gpu(1, "GPU-a", "00000000:01:00.0");
    full.name = "Bad \xff name";
    full.used = 60;
    full.unified = full.cpu = full.lost = true;
    full.reason = "why";
    full.ecc_errors = 3;
    full.processes = {{7, 50}};
    full.kind = DeviceKind::opencl;
    full.platform = "Portable";
    const auto read = readings_of(to_line({.devices = {full, gpu(2, "GPU-b")}, .problem = "slow\n"}));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->problem, "slow\n");
    ASSERT_THAT(read->devices, SizeIs(2));
    const DeviceReading& back = read->devices[0];
    EXPECT_EQ(back.id, full.id);
    EXPECT_EQ(back.pci, full.pci);
    EXPECT_EQ(back.used, 60);
    EXPECT_TRUE(back.unified && back.cpu && back.lost);
    EXPECT_EQ(back.reason, "why");
    EXPECT_EQ(back.ecc_errors, 3);
    EXPECT_EQ(back.kind, DeviceKind::opencl);
    EXPECT_EQ(back.platform, "Portable");
    ASSERT_TRUE(back.processes);
    EXPECT_EQ(back.processes->at(0).pid, 7);
    EXPECT_EQ(back.processes->at(0).bytes, 50);
    EXPECT_FALSE(read->devices[1].used || read->devices[1].processes || read->devices[1].ecc_errors);
}

TEST(Codec, KeepsEachKind) {
    for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::opencl, DeviceKind::metal}) {
        DeviceReading device = gpu(1, "GPU-a");
        device.kind = kind;
        EXPECT_EQ(readings_of(to_line({.devices = {device}}))->devices.at(0).kind, kind) << to_text(kind);
    }
}

TEST(Codec, MalformedLinesAreRefused) {
    for (const char* line :
         {"", "{", "[]", "{}", R"({"devices": 1, "problem": ""})", R"({"devices": [{"id": "GPU-a"}], "problem": ""})"})
        EXPECT_FALSE(readings_of(line)) << line;
}

TEST(GpuWithoutDriver, IsReportedWithItsPciAddress) {
    const testing::TemporaryFolder root;
    const auto write = [&](const std::string& file, const std::string& text) {
        std::filesystem::create_directories((root / file).parent_path());
        std::ofstream(root / file) << text;
    };
    EXPECT_THAT(gpu_without_driver(root.path()), IsEmpty());
    write("sys/bus/pci/devices/0000:00:01.0/vendor", "0x10de\n");
    write("sys/bus/pci/devices/0000:00:01.0/class", "0x040300\n");  // the GPU's audio function
    EXPECT_THAT(gpu_without_driver(root.path()), IsEmpty());
    write("sys/bus/pci/devices/0000:65:00.0/vendor", "0x10de\n");
    write("sys/bus/pci/devices/0000:65:00.0/class", "0x030200\n");
    EXPECT_THAT(gpu_without_driver(root.path()), Mentions("GPU at 0000:65:00.0", "driver"));
    write("proc/driver/nvidia/version", "NVRM version: ...\n");
    EXPECT_THAT(gpu_without_driver(root.path()), IsEmpty());
}

}  // namespace
}  // namespace hpo
