#include "orchestrator/devices/apple.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "orchestrator/devices/metal.hpp"
#include "orchestrator/devices/property_list.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t gib = std::int64_t{1} << 30;

/// The part that is read of what ioreg prints on a MacBook Pro with an M1 Pro, of 16 GPU cores.
const std::string recorded = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<array>
	<dict>
		<key>CFBundleIdentifier</key>
		<string>com.apple.AGXG13X</string>
		<key>CommandSubmissionEnabled</key>
		<true/>
		<key>GPUConfigurationVariable</key>
		<dict>
			<key>gpu_gen</key>
			<integer>13</integer>
			<key>num_cores</key>
			<integer>16</integer>
		</dict>
		<key>IOClass</key>
		<string>AGXAcceleratorG13X</string>
		<key>IORegistryEntryChildren</key>
		<array>
			<dict>
				<key>IOClass</key>
				<string>IOService</string>
			</dict>
		</array>
		<key>MetalPluginName</key>
		<string>AGXMetal13_3</string>
		<key>PerformanceStatistics</key>
		<dict>
			<key>Alloc system memory</key>
			<integer>3178168320</integer>
			<key>Allocated PB Size</key>
			<integer>61734912</integer>
			<key>Device Utilization %</key>
			<integer>37</integer>
			<key>In use system memory</key>
			<integer>412270592</integer>
			<key>Renderer Utilization %</key>
			<integer>36</integer>
			<key>Tiler Utilization %</key>
			<integer>5</integer>
		</dict>
		<key>gpu-core-count</key>
		<integer>16</integer>
		<key>model</key>
		<string>Apple M1 Pro</string>
		<key>vendor-id</key>
		<data>
		aw4AAA==
		</data>
	</dict>
</array>
</plist>
)";

/// `recorded` without the key and its value of one line.
std::string without(const std::string& key) {
    const auto begin = recorded.find("<key>" + key + "</key>");
    const auto value = recorded.find('\n', begin) + 1;
    return recorded.substr(0, begin) + recorded.substr(recorded.find('\n', value));
}

TEST(Apple, AnM1ProHasFastAndEfficientCoresOfWhichAllMayBeUsed) {
    const Host host = host_of({.memory = 16 * gib,
                               .cpus = 10,
                               .levels = {{"Performance", 8}, {"Efficiency", 2}},
                               .cpu_name = "Apple M1 Pro"});
    EXPECT_EQ(host.cores, 10);
    EXPECT_THAT(host.cpus, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    EXPECT_THAT(host.kinds, ElementsAre(CoreKind{"Performance", 8}, CoreKind{"Efficiency", 2}));
    EXPECT_EQ(host.memory, 16 * gib);
    EXPECT_EQ(host.cpu_name, "Apple M1 Pro");
    EXPECT_EQ(host.processes, std::nullopt);
}

TEST(Apple, ASilentMacHasOneCoreAndNothingThatIsMadeUp) {
    const Host host = host_of({});
    EXPECT_EQ(host.cores, 1);
    EXPECT_EQ(host.cpus.size(), 1U);
    EXPECT_EQ(host.cpu_name, "unknown CPU");
    EXPECT_TRUE(host.kinds.empty());
    EXPECT_EQ(host_of({.levels = {{"Performance", 4}, {"Efficiency", 4}}}).cores, 8) << "without hw.logicalcpu";
    EXPECT_TRUE(host_of({.cpus = 8, .levels = {{"Standard", 8}}}).kinds.empty()) << "cores that are all alike";
}

/// vm_stat's counts on a machine of 16 GiB, with pages of 16 KiB.
TEST(Apple, CachedFilesAndPurgeablePagesCountAsAvailable) {
    const ApplePages pages{.page = 16384, .internal = 400000, .purgeable = 20000, .wired = 120000, .compressed = 60000};
    EXPECT_EQ(available_of(16 * gib, pages), 16 * gib - std::int64_t{560000} * 16384);
}

TEST(Apple, AvailableMemoryIsAbsentWhereAnAnswerIs) {
    EXPECT_EQ(available_of(std::nullopt, ApplePages{.page = 16384}), std::nullopt);
    EXPECT_EQ(available_of(16 * gib, std::nullopt), std::nullopt);
    EXPECT_EQ(available_of(16 * gib, ApplePages{}), std::nullopt) << "pages of no size";
    EXPECT_EQ(available_of(gib, ApplePages{.page = 16384, .wired = 1 << 20}), 0) << "counts of another moment";
}

TEST(Apple, TheGpuMayUseThreeQuartersOfALargeMemoryAndTwoThirdsOfASmallerOne) {
    EXPECT_EQ(gpu_ceiling(64 * gib, std::nullopt), 48 * gib);
    EXPECT_EQ(gpu_ceiling(36 * gib, std::nullopt), 27 * gib);
    EXPECT_EQ(gpu_ceiling(24 * gib, std::nullopt), 16 * gib);
    EXPECT_NEAR(static_cast<double>(gpu_ceiling(16 * gib, std::nullopt)), 16.0 * gib * 2 / 3, 2);
    EXPECT_EQ(gpu_ceiling(0, std::nullopt), 0);
}

TEST(Apple, TheUsersLimitOfWiredMemoryReplacesTheCeiling) {
    EXPECT_EQ(gpu_ceiling(64 * gib, 57344), 56 * gib);
    EXPECT_EQ(gpu_ceiling(64 * gib, 0), 48 * gib) << "0: the system's own limit";
    EXPECT_EQ(gpu_ceiling(16 * gib, 1 << 20), 16 * gib);
}

TEST(Apple, AnAcceleratorIsReadFromItsProperties) {
    const auto devices = accelerators_of(recorded, 12 * gib);
    ASSERT_TRUE(devices);
    ASSERT_EQ(devices->size(), 1U);
    const DeviceReading& device = devices->front();
    EXPECT_EQ(device.kind, DeviceKind::metal);
    EXPECT_EQ(device.name, "Apple M1 Pro (16 cores)");
    EXPECT_EQ(device.id, "MTL-AGXAcceleratorG13X");
    EXPECT_EQ(device.memory, 12 * gib);
    EXPECT_TRUE(device.unified);
    EXPECT_EQ(device.used, 412270592);
    EXPECT_EQ(device.activity.utilization, 37);
    EXPECT_EQ(device.activity.memory_utilization, std::nullopt);
    EXPECT_EQ(device.activity.power, std::nullopt);
    EXPECT_EQ(device.activity.temperature, std::nullopt);
    EXPECT_EQ(device.processes, std::nullopt);
}

TEST(Apple, AnAbsentFigureStaysAbsent) {
    EXPECT_EQ(accelerators_of(without("Device Utilization %"), gib)->front().activity.utilization, std::nullopt);
    EXPECT_EQ(accelerators_of(without("In use system memory"), gib)->front().used, std::nullopt);
    EXPECT_EQ(accelerators_of(without("gpu-core-count"), gib)->front().name, "Apple M1 Pro");
    EXPECT_EQ(accelerators_of(without("model"), gib)->front().name, "Apple GPU (16 cores)");
}

TEST(Apple, AcceleratorsOfOtherMakersAreLeftOut) {
    std::string intel = recorded;
    intel.replace(intel.find("AGXAcceleratorG13X"), 18, "IntelAccelerator");
    EXPECT_TRUE(accelerators_of(intel, gib)->empty());
    EXPECT_TRUE(accelerators_of("<plist><array/></plist>", gib)->empty());
}

TEST(Apple, TextThatIsNoPropertyListIsNoMachineWithoutGpus) {
    EXPECT_EQ(accelerators_of("", gib), std::nullopt);
    EXPECT_EQ(accelerators_of("ioreg: error: can't obtain properties", gib), std::nullopt);
    for (std::size_t length = 200; length < recorded.size() - 20; length += 7)
        EXPECT_EQ(accelerators_of(recorded.substr(0, length), gib), std::nullopt) << length;
}

TEST(PropertyList, ValuesOfEachKindAreRead) {
    const auto list = parse_property_list(
        "<plist><dict><key>a &amp; b</key><array><integer>-3</integer><integer>18446744073709551615</integer>"
        "<real>1.5</real><string/><true/><false/><dict/></array></dict></plist>");
    ASSERT_TRUE(list);
    const auto& values = list->at("a & b");
    EXPECT_EQ(values[0], -3);
    EXPECT_EQ(values[1].get<std::uint64_t>(), 18446744073709551615U);
    EXPECT_EQ(values[2], 1.5);
    EXPECT_EQ(values[3], "");
    EXPECT_EQ(values[4], true);
    EXPECT_EQ(values[5], false);
    EXPECT_TRUE(values[6].is_object());
}

TEST(PropertyList, DamagedTextsAreRefused) {
    std::string deep;
    for (int i = 0; i < 100000; ++i) deep += "<array>";
    for (const std::string& text :
         {deep, std::string("<dict><string>a</string></dict>"), std::string("<integer>x</integer>"),
          std::string("<array><integer>1</array>"), std::string("</array>"), std::string("<unknown/>"),
          std::string("<!-- "), std::string("<dict><key>a</key></dict>")})
        EXPECT_EQ(parse_property_list(text), std::nullopt) << text.substr(0, 40);
}

TEST(Apple, TimesOfMachAreNoNanoseconds) {
    EXPECT_DOUBLE_EQ(mach_seconds(24000000, 125, 3), 1.0) << "Apple silicon: 24 MHz";
    EXPECT_DOUBLE_EQ(mach_seconds(1000000000, 1, 1), 1.0) << "Intel";
    EXPECT_DOUBLE_EQ(mach_seconds(1, 1, 0), 0);
}

TEST(Metal, ReadsTheFileThatTheVariableNamesInPlaceOfTheMachine) {
    const testing::TemporaryFolder folder;
    const auto file = folder / "ioreg.plist";
    std::ofstream(file) << recorded;
    ::setenv(accelerators_variable, file.c_str(), 1);
    EXPECT_TRUE(metal_expected());
    const DeviceReadings readings = read_metal();
    ASSERT_EQ(readings.devices.size(), 1U);
    EXPECT_EQ(readings.problem, "");
    EXPECT_EQ(readings.devices.front().memory, gpu_ceiling(read_host().memory, std::nullopt));
    std::ofstream(file) << "torn";
    EXPECT_THAT(read_metal().problem, ::testing::HasSubstr("ioreg"));
    EXPECT_TRUE(read_metal().devices.empty());
    ::unsetenv(accelerators_variable);
    EXPECT_FALSE(metal_expected()) << "Linux has no IOKit";
}

}  // namespace
}  // namespace hpo
