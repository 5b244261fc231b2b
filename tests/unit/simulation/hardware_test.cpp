#include "orchestrator/simulation/hardware.hpp"

#include <gtest/gtest.h>

#include "orchestrator/simulation/hardware_file.hpp"

namespace hpo {
namespace {

std::string error_of(const std::string& yaml) {
    const auto file = parse_hardware_file(yaml, "cluster.yaml");
    return file ? "" : file.error().message;
}

TEST(Hardware, ReadsACountAndAKind) {
    const auto hardware = parse_hardware("8xh200");
    ASSERT_TRUE(hardware) << hardware.error().message;
    ASSERT_EQ(hardware->groups.size(), 1u);
    EXPECT_EQ(hardware->groups[0].count, 8);
    EXPECT_EQ(hardware->groups[0].name, "H200");
    EXPECT_EQ(hardware->name, "8 H200");
    EXPECT_FALSE(hardware->groups[0].speed);
    EXPECT_EQ(parse_hardware("16xcpu")->cores, 16);
    EXPECT_EQ(parse_hardware("16xcpu, 2xA100")->groups.size(), 1u);
    EXPECT_EQ(parse_hardware("2xcpu,4xcpu")->cores, 6);
}

TEST(Hardware, SaysWhatIsWrongAndWhatIsKnown) {
    for (const char* text : {"0xH200", "10001xH200", "H200", "8x", "", "-1xcpu", "8xH2000", "8xcpu,"}) {
        const auto hardware = parse_hardware(text);
        if (std::string(text) == "8xcpu,") {
            EXPECT_TRUE(hardware);
            continue;
        }
        ASSERT_FALSE(hardware) << text;
        EXPECT_NE(hardware.error().message.find("8xH200"), std::string::npos) << hardware.error().message;
    }
    EXPECT_NE(parse_hardware("8xH2000").error().message.find("A100"), std::string::npos);
    EXPECT_NE(parse_hardware("no.yaml").error().message.find("neither a number and a kind nor a file"),
              std::string::npos);
    EXPECT_NE(parse_hardware("0xH200").error().message.find("1 to 10000"), std::string::npos);
}

TEST(HardwareFile, ReadsDevicesHostAndTrials) {
    const auto file = parse_hardware_file(
        "host: {cores: 64, memory: 256GB, price: 1.5}\n"
        "devices:\n"
        "  - {name: H200, count: 4, speed: [20, 40], price: 3, throughput: [1, 1.8]}\n"
        "  - {name: Mine, memory: 24GB, speed: 5, at_once: 2}\n"
        "trials: {step: [500ms, 2s], start: 3, gpu_memory: [1GB, 4GB], curve: {from: 0.1, to: [0.7, 0.9], pace: 2}}\n",
        "cluster.yaml");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->hardware.devices(), 5);
    EXPECT_DOUBLE_EQ(*file->hardware.price_per_hour(), 1.5 + 4 * 3);
    EXPECT_EQ(file->hardware.groups[1].memory, 24'000'000'000);
    EXPECT_EQ(*file->hardware.groups[1].at_once, 2);
    ASSERT_TRUE(file->trials);
    EXPECT_DOUBLE_EQ(file->trials->step.low, 0.5);
    EXPECT_DOUBLE_EQ(file->trials->step.high, 2);
    EXPECT_DOUBLE_EQ(file->trials->start.low, 3);
    EXPECT_DOUBLE_EQ(file->trials->last.low, 0.7);
}

TEST(HardwareFile, DevicesWithoutMemoryAreRefusedWithTheLine) {
    EXPECT_NE(error_of("devices: [{name: Mine, speed: 2}]").find("cluster.yaml:1"), std::string::npos);
    EXPECT_NE(error_of("devices: [{name: Mine, speed: 2}]").find("memory"), std::string::npos);
    EXPECT_NE(error_of("devices: [{name: H200, memory: 0GB}]").find("'devices.memory' must be a size"),
              std::string::npos);
    EXPECT_NE(error_of("host: {cores: 4, memory: 0GB}").find("'host.memory' must be a size"), std::string::npos);
}

TEST(HardwareFile, AnEmptyOneIsNoStudyFile) {
    EXPECT_EQ(error_of(" \n"), "cluster.yaml: the file is empty: give 'host', 'devices' or both");
    EXPECT_EQ(error_of("- 3\n").find("study"), std::string::npos) << error_of("- 3\n");
}

TEST(HardwareFile, RefusesWhatMakesNoSense) {
    EXPECT_NE(error_of("{}").find("describes no hardware"), std::string::npos);
    EXPECT_NE(error_of("devices: []").find("must be a list"), std::string::npos);
    EXPECT_NE(error_of("devices: [{name: H200, count: 0}]").find("devices.count"), std::string::npos);
    EXPECT_NE(error_of("devices: [{name: H200, speed: [4, 2]}]").find("empty"), std::string::npos);
    EXPECT_NE(error_of("devices: [{name: H200, speed: fast}]").find("devices.speed"), std::string::npos);
    EXPECT_NE(error_of("devices: [{name: H200, cuont: 3}]").find("did you mean 'count'"), std::string::npos);
    EXPECT_NE(error_of("devices: [{name: A, memory: 1GB, count: 9000}, {name: B, memory: 1GB, count: 9000}]")
                  .find("18000 devices"),
              std::string::npos);
    EXPECT_NE(error_of("host: {cores: 4}\ntrials: {step: 0s}").find("above 0 s"), std::string::npos);
    EXPECT_NE(error_of("not: [closed").find("cluster.yaml:1"), std::string::npos);
}

}  // namespace
}  // namespace hpo
