#include "orchestrator/telemetry/host_counters.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

/// A machine made of files.
class HostCountersTest : public ::testing::Test {
   protected:
    void write(const std::string& file, const std::string& text) {
        std::filesystem::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text;
    }
    HostCounters read(std::vector<int> cpus = {0, 1}) { return read_host_counters(cpus, 5, root_.path()); }

    testing::TemporaryFolder root_;
    const double ticks_ = static_cast<double>(::sysconf(_SC_CLK_TCK));
};

TEST_F(HostCountersTest, CpuTimeCountsTheGivenCpusAndLeavesOutIdleIoWaitAndStolenTime) {
    write("proc/stat",
          "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 20 30 4000 500 6 7 800 9 10\ncpu1 1 0 0 0 0 0 0 0 0 0\n"
          "cpu2 5 0 0 0 0 0 0 0 0 0\nintr 1 2\n");
    const auto busy = read().busy_seconds;
    ASSERT_EQ(busy.size(), 2U);
    EXPECT_DOUBLE_EQ(busy.at(0), 163 / ticks_);
    EXPECT_DOUBLE_EQ(busy.at(1), 1 / ticks_);
}

TEST_F(HostCountersTest, EnergyIsReadOfPackagesAloneWithItsRange) {
    write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    write("sys/class/powercap/intel-rapl:0/energy_uj", "2500000\n");
    write("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    write("sys/class/powercap/intel-rapl:0:0/name", "core\n");
    write("sys/class/powercap/intel-rapl:0:0/energy_uj", "1000000\n");
    write("sys/class/powercap/intel-rapl:1/name", "package-1\n");  // its energy is not readable
    const auto energy = read().energy;
    ASSERT_EQ(energy.size(), 1U);
    EXPECT_DOUBLE_EQ(energy.at("intel-rapl:0").joules, 2.5);
    EXPECT_NEAR(energy.at("intel-rapl:0").range, 262143.3, 0.1);
}

TEST_F(HostCountersTest, TheTemperatureIsThatOfTheHottestCpuSensor) {
    write("sys/class/hwmon/hwmon0/name", "nvme\n");
    write("sys/class/hwmon/hwmon0/temp1_input", "91000\n");
    write("sys/class/hwmon/hwmon1/name", "k10temp\n");
    write("sys/class/hwmon/hwmon1/temp1_input", "45125\n");
    write("sys/class/hwmon/hwmon1/temp3_input", "61500\n");
    write("sys/class/hwmon/hwmon1/temp1_label", "Tctl\n");
    EXPECT_DOUBLE_EQ(read().temperature.value(), 61.5);
}

TEST_F(HostCountersTest, TheClockIsTheMeanOfTheGivenCpus) {
    write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2000000\n");
    write("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3000000\n");
    EXPECT_DOUBLE_EQ(read().clock.value(), 2500);
    EXPECT_FALSE(read({0, 7}).clock);
}

TEST_F(HostCountersTest, StallsAreReadOfTheLineSomeAndThrottlingOfTheControlGroup) {
    write("proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0.00 total=7\n");
    write("proc/pressure/cpu", "full avg10=0.00 total=7\n");
    write("proc/self/cgroup", "0::/job\n");
    write("sys/fs/cgroup/job/cpu.stat", "usage_usec 5\nnr_periods 3\nthrottled_usec 250000\n");
    const HostCounters counters = read();
    EXPECT_DOUBLE_EQ(counters.io_stall_seconds.value(), 1.5);
    EXPECT_FALSE(counters.cpu_stall_seconds);
    EXPECT_FALSE(counters.memory_stall_seconds);
    EXPECT_DOUBLE_EQ(counters.throttled_seconds.value(), 0.25);
}

TEST_F(HostCountersTest, AContainerThatHidesEverythingGivesNothingButMemory) {
    const HostCounters counters = read();
    EXPECT_TRUE(counters.busy_seconds.empty());
    EXPECT_TRUE(counters.energy.empty());
    EXPECT_FALSE(counters.temperature);
    EXPECT_FALSE(counters.clock);
    EXPECT_FALSE(counters.throttled_seconds);
    EXPECT_GT(counters.memory, 0);
}

TEST_F(HostCountersTest, TheCpuTimeOfProcessesIncludesChildrenThatEndedWhateverTheirNames) {
    write("proc/12/stat", "12 (a) b (c)) S 1 12 12 0 -1 4194304 1 2 3 4 100 50 30 20 20 0 1 0 99\n");
    write("proc/13/stat", "13 (x) R 12 12 12 0 -1 4194304 1 2 3 4 10 0 0 0 20 0 1 0 99\n");
    const std::array<std::int64_t, 3> processes{12, 13, 14};
    EXPECT_DOUBLE_EQ(cpu_seconds(processes, root_.path()), 210 / ticks_);
}

}  // namespace
}  // namespace hpo
